// Decides where each result is written: a pure function of sources and options.
import { dirname, extname, join, resolve } from 'node:path'
import { usageError } from '../cli-error.ts'
import { isUrl, resultSuffix, type Source } from './sources.ts'

export type Target = {
  /** `-o`: the file of a single result. */
  readonly file?: string | undefined
  /** `--out`: the folder that keeps the tree of the sources. */
  readonly dir?: string | undefined
  readonly keepExtension: boolean
  readonly format: string
}

export type Job = Source & { readonly output: string }

export const formats = ['png', 'webp', 'jpeg'] as const
type Format = (typeof formats)[number]

/** File name extensions of formats. */
export const extensionOf: Readonly<Record<string, string>> = { png: 'png', webp: 'webp', jpeg: 'jpg' }

/** @throws CliError when two images have one result */
export function planJobs(sources: readonly Source[], target: Target): Job[] {
  if (target.file !== undefined && sources.length > 1) {
    throw usageError(`-o names one file, but there are ${sources.length} images.`, 'Use --out with a folder.')
  }
  const jobs = sources.map((source) => ({ ...source, output: outputOf(source, target) }))
  const byOutput = new Map<string, Job>()
  for (const job of jobs) {
    const path = resolve(job.output)
    const other = byOutput.get(path)
    if (other !== undefined) throw sameResult(other, job, target)
    byOutput.set(path, job)
  }
  const overwritten = jobs.find(({ input, output }) => !isUrl(input) && resolve(input) === resolve(output))
  if (overwritten) {
    throw usageError(`The result would replace ${overwritten.input} itself.`, 'Choose another folder or file name.')
  }
  return jobs
}

const sameResult = (one: Job, other: Job, { keepExtension }: Target) =>
  usageError(
    `${one.input} and ${other.input} would both be written to ${one.output}.`,
    keepExtension
      ? 'Cut them into different folders.'
      : 'Add --keep-extension for names such as photo.jpg.png, or cut them into different folders.',
  )

export function outputOf(source: Source, { file, dir, keepExtension, format }: Target): string {
  if (file !== undefined) return file
  const extension = extensionOf[format] ?? format
  const stem = keepExtension ? source.relative : withoutExtension(source.relative)
  if (dir !== undefined) return join(dir, `${stem}.${extension}`)
  const beside = isUrl(source.input) ? stem : keepExtension ? source.input : withoutExtension(source.input)
  return `${beside}${resultSuffix}.${extension}`
}

const withoutExtension = (path: string): string => path.slice(0, path.length - extname(path).length)

/** Format of a result by the name of its file; undefined if the name says nothing. */
export function formatOfName(path: string): Format | undefined {
  const extension = extname(path).slice(1).toLowerCase()
  return extension === 'jpg' ? 'jpeg' : formats.find((format) => format === extension)
}

/** Deepest folder that contains all of these paths. */
export function commonFolder(paths: readonly string[]): string {
  const folders = paths.map((path) => dirname(resolve(path)).split('/'))
  const [first = [], ...others] = folders
  const length = first.findIndex((part, at) => others.some((folder) => folder[at] !== part))
  return first.slice(0, length === -1 ? undefined : length).join('/') || '/'
}
