// matte cut: removes the backgrounds of files, folders, patterns, URLs or a pipe.

import { existsSync, statSync } from 'node:fs'
import { extname } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import type { Matte } from 'matte-client'
import { integer, jobs as jobCount, position, type Roi, roi, scale } from '../arguments.ts'
import { usageError } from '../cli-error.ts'
import { defined } from '../defined.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { plural } from '../print/format.ts'
import { createOutput, type Output } from '../print/output.ts'
import { toPlain } from '../print/table.ts'
import { type CommonOptions, connect, interruptible, withCommon } from '../session.ts'
import { keyOf, openManifest, type ResultManifest, readResults } from './manifest-file.ts'
import { commonFolder, formatOfName, formats, type Job, outputOf, planJobs, type Target } from './plan.ts'
import { createReport, type Report } from './report.ts'
import { decide, hashOptions, type ResultLine, sizeOfFile } from './results.ts'
import { runJobs } from './run-jobs.ts'
import { fileExists, saveResult, writeStdout } from './save-result.ts'
import { findSources, type Source } from './sources.ts'
import { watchFolders } from './watch.ts'

export type CutOptions = CommonOptions & {
  readonly output?: string
  readonly out?: string
  readonly format?: (typeof formats)[number] | 'jpg'
  readonly background?: string
  readonly crop?: boolean
  readonly cropMargin?: string
  readonly maxSide?: number
  readonly maxPixels?: number
  readonly channels?: 'rgba' | 'alpha'
  readonly roi?: Roi
  readonly scale?: string
  readonly position?: string
  readonly shadow?: ShadowKind
  readonly shadowOpacity?: number
  readonly shadowBlur?: string
  readonly shadowAngle?: number
  readonly shadowColor?: string
  readonly shadowGrow?: boolean
  readonly model?: string
  readonly jobs: number | 'auto'
  readonly watch?: boolean
  readonly overwrite?: boolean
  readonly keepExtension?: boolean
  readonly dryRun?: boolean
}

const shadowKinds = ['drop', 'contact', 'cast'] as const
type ShadowKind = (typeof shadowKinds)[number]

const examples = `
Examples:
  matte cut photo.jpg                              writes photo-cutout.png beside it
  matte cut photos/ --out cut/ --format webp       a folder with its tree; run it again to continue
  matte cut 'photos/**/*.jpg' --out cut/           a pattern
  matte cut - --background '#fff' < in.jpg > out.png
  matte cut photos/ --out cut/ --watch             new and changed photos, until Ctrl-C`

export function addCutCommand(program: Command): void {
  withCommon(program.command('cut').description('remove the backgrounds of images'))
    .showHelpAfterError('Add --help for the options. Put -- before a file name that begins with a dash.')
    .argument('<images...>', 'files, folders, patterns, URLs, or - for stdin')
    .option('-o, --output <file>', 'file of a single result; - for stdout')
    .option('--out <dir>', 'folder of the results, which keeps the tree of the images (default: beside each image)')
    .addOption(new Option('--format <format>', 'format of the results (default: png)').choices([...formats, 'jpg']))
    .option('--background <colour>', "transparent, '#rrggbb', '#rrggbbaa' or '#fff'")
    .option('--crop', 'crop to the foreground')
    .option('--crop-margin <margin>', 'margin of the crop, such as 20px or 5%; implies --crop')
    .option('--max-side <pixels>', 'scale the longer side down to this', integer(1, 65_535))
    .option('--max-pixels <pixels>', 'scale down to so many pixels, such as 4000000', integer(1, 65_535 ** 2))
    .option('--roi <edges>', "left, top, right and bottom of the foreground, such as '10% 0px 90% 100%'", roi)
    .option('--scale <percent>', 'share of the result that the foreground fills, 10% to 100%', scale)
    .option('--position <place>', "place of the foreground: center, or such as '50% 100%'", position)
    .addOption(new Option('--shadow <kind>', 'shadow under the subject').choices(shadowKinds))
    .option('--shadow-opacity <percent>', 'darkest part of the shadow', integer(0, 100))
    .option('--shadow-blur <width>', 'soft edge of the shadow, such as 20px or 8%, at most 25%')
    .option('--shadow-angle <degrees>', 'where a drop or cast shadow falls, clockwise: 0 up, 90 right', integer(0, 359))
    .option('--shadow-color <colour>', "colour of the shadow, '#rrggbb' (default: black)")
    .option('--shadow-grow', 'enlarge the result until it holds the whole shadow')
    .addOption(new Option('--channels <channels>', 'alpha: only the mask').choices(['rgba', 'alpha']))
    .option('--model <name>', 'model to use; matte models lists them')
    .option('--jobs <number>', 'images at once, or auto: follow the limits of the service', jobCount, 'auto')
    .option('--watch', 'stay and cut new and changed images of the folders')
    .option('--overwrite', 'replace results that exist, and cut images again that are done')
    .option('--keep-extension', 'name results photo.jpg.png instead of photo.png')
    .option('--dry-run', 'print what would be done, and cost nothing')
    .addHelpText('after', examples)
    .action(async (images: string[], options: CutOptions) => {
      process.exitCode = await cut(images, normalize(options))
    })
}

/** Folds options that imply or repeat each other. */
export function normalize({ out, output, format, crop, cropMargin, ...others }: CutOptions): CutOptions {
  if (out !== undefined && output !== undefined) {
    throw usageError('-o and --out exclude each other.', 'Use -o for one file and --out for a folder.')
  }
  const isFolder = output !== undefined && output !== '-' && (/[\\/]$/.test(output) || isExistingFolder(output))
  const named = output !== undefined && !isFolder ? formatOfName(output) : undefined
  if (output !== undefined && !isFolder && named === undefined && format === undefined && extname(output) !== '') {
    throw usageError(
      `${output} names a format that the service does not write.`,
      'Use .png, .webp or .jpg, or add --format.',
    )
  }
  shadowOf(others) // before anything is sent
  const chosen = format === 'jpg' ? 'jpeg' : (format ?? named)
  return {
    ...others,
    ...defined({
      out: isFolder ? output : out,
      output: isFolder ? undefined : output,
      format: chosen,
      crop: crop ?? (cropMargin === undefined ? undefined : true),
      cropMargin,
    }),
  }
}

const isExistingFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory()

async function cut(images: readonly string[], options: CutOptions): Promise<ExitCode> {
  if (images.includes('-')) return cutPipe(images, options)
  if (options.watch) return cutFolders(images, options)
  const sources = await findSources(images, { outDir: options.out })
  if (options.output === '-') return cutToStdout(sources, options)
  const planned = planJobs(sources, targetOf(options))
  const folder = manifestFolder(planned, options)
  if (options.dryRun) return preview(planned, folder, options)
  const { matte, out } = await connect(options)
  const report = createReport(out, planned.length)
  const stopped = await interruptible((signal) =>
    withManifest(folder, (manifest) => runJobs(planned, { ...runOptions(matte, options), manifest, report, signal })),
  )
  return report.end(stopped)
}

const targetOf = ({ out, output, format = 'png', keepExtension = false }: CutOptions): Target => ({
  dir: out,
  file: output,
  format,
  keepExtension,
})

/** One image that is written beside itself leaves no manifest behind. */
function manifestFolder(planned: readonly Job[], { out }: CutOptions): string | undefined {
  if (out !== undefined) return out
  return planned.length > 1 ? commonFolder(planned.map(({ output }) => output)) : undefined
}

async function withManifest<T>(
  folder: string | undefined,
  run: (manifest: ResultManifest | undefined) => Promise<T>,
): Promise<T> {
  if (folder === undefined) return run(undefined)
  const manifest = await openManifest(folder)
  try {
    return await run(manifest)
  } finally {
    await manifest.close()
  }
}

/** Options of the client. Those that change the result come first; their hash is in the manifest. */
export const removeOptionsOf = (options: CutOptions) => {
  const { format, background, crop, cropMargin, maxSide, channels, model } = options
  const { roi, scale, position, maxPixels } = options
  const placed = { roi, scale, position, maxPixels, shadow: shadowOf(options) }
  return defined({ format, background, crop, cropMargin, maxSide, channels, model, ...placed })
}

function shadowOf(options: Omit<CutOptions, 'out' | 'output'>) {
  const { shadow: kind, shadowOpacity, shadowBlur, shadowAngle, shadowColor, shadowGrow } = options
  const rest = defined({
    opacity: shadowOpacity,
    blur: shadowBlur,
    angle: shadowAngle,
    color: shadowColor,
    grow: shadowGrow,
  })
  if (kind !== undefined) return { kind, ...rest }
  if (Object.keys(rest).length === 0) return undefined
  throw usageError('The shadow has no kind.', 'Add --shadow drop, --shadow contact or --shadow cast.')
}

const runOptions = (matte: Matte, options: CutOptions) => ({
  matte,
  remove: removeOptionsOf(options),
  concurrency: options.jobs,
  overwrite: options.overwrite ?? false,
})

async function preview(planned: readonly Job[], folder: string | undefined, options: CutOptions): Promise<ExitCode> {
  const out = createOutput(options)
  const results = folder === undefined ? new Map<string, ResultLine>() : await readResults(folder)
  const optionsHash = hashOptions(removeOptionsOf(options))
  const overwrite = options.overwrite ?? false
  let toCut = 0
  for (const { input, output, stamp } of planned) {
    const known = folder === undefined ? undefined : results.get(keyOf(folder, output))
    const decision = decide(known, { path: output, stamp, options: optionsHash, overwrite }, sizeOfFile(output))
    if (decision.action === 'cut') toCut += 1
    const what = decision.action === 'cut' ? `cut: ${decision.because}` : `skip: ${decision.reason}`
    if (out.json) out.record({ input, output, ...decision })
    else out.line(toPlain(`${input} → ${output}  ${what}`))
  }
  out.note(`${plural(toCut, 'image')} to cut, ${planned.length - toCut} to skip. Nothing was sent.`)
  return exitCodes.ok
}

async function cutFolders(folders: readonly string[], options: CutOptions): Promise<ExitCode> {
  if (options.output !== undefined) throw usageError('-o names one file.', 'Use --out with --watch.')
  const target = targetOf(options)
  const { matte, out } = await connect(options)
  const watching = await watchFolders(folders, { outDir: options.out })
  const report = createReport(out, undefined)
  const watched: Report = {
    ...report,
    add: (outcome) => {
      watching.finished(outcome.input)
      report.add(outcome)
    },
  }
  out.note(`Watching ${folders.join(', ')}. Stop with Ctrl-C.`)
  const folder = options.out ?? folders[0]
  return interruptible(async (signal) => {
    const jobs = toJobs(watching.sources, target)
    const endJobs = (): void => void watching.close()
    const stopped = await withManifest(folder, (manifest) =>
      runJobs(jobs, { ...runOptions(matte, options), manifest, report: watched, signal, endJobs }),
    ).finally(endJobs)
    // Ctrl-C is how a watch ends.
    return report.end(signal.aborted ? undefined : stopped)
  })
}

async function* toJobs(sources: AsyncIterable<Source>, target: Target): AsyncGenerator<Job> {
  for await (const source of sources) yield { ...source, output: outputOf(source, target) }
}

async function cutPipe(images: readonly string[], options: CutOptions): Promise<ExitCode> {
  if (images.length > 1 || options.watch || options.out !== undefined) {
    throw usageError('- takes one image from stdin.', 'Use it alone: matte cut - < in.jpg > out.png, or with -o FILE.')
  }
  if (process.stdin.isTTY) throw usageError('There is no image on stdin.', 'Pipe one: matte cut - < in.jpg > out.png')
  const { output = '-', overwrite = false } = options
  if (output !== '-' && existsSync(output) && !overwrite) throw fileExists(output)
  const { matte, out } = await connect(options)
  const input = await buffer(process.stdin)
  if (input.length === 0) throw usageError('stdin is empty.', 'Pipe an image: matte cut - < in.jpg > out.png')
  return cutOne(input, { matte, out, options: { ...options, output } })
}

async function cutToStdout(sources: readonly Source[], options: CutOptions): Promise<ExitCode> {
  const [only, ...others] = sources
  if (only === undefined || others.length > 0) {
    throw usageError(`-o - takes one image, but there are ${sources.length}.`, 'Use --out with a folder.')
  }
  const { matte, out } = await connect(options)
  return cutOne(only.input, { matte, out, options })
}

type One = { readonly matte: Matte; readonly out: Output; readonly options: CutOptions }

async function cutOne(input: string | Uint8Array, { matte, options, out }: One): Promise<ExitCode> {
  const { output = '-', overwrite = false } = options
  if (output === '-' && process.stdout.isTTY) {
    throw usageError('The result is an image, and stdout is a terminal.', 'Add -o FILE, or > FILE.')
  }
  const cutout = await interruptible((signal) => matte.removeBackground(input, { ...removeOptionsOf(options), signal }))
  const bytes = await cutout.bytes()
  if (output === '-') await writeStdout(bytes)
  else {
    await saveResult(output, bytes, { overwrite })
    if (out.json) out.record({ output, taskId: cutout.taskId, sizeBytes: bytes.length })
    else out.note(output)
  }
  return exitCodes.ok
}
