// Cuts images, many at once, and writes each result as it arrives.
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type Cutout, type Matte, MatteError, type NamedInput, type RemoveManyOptions } from 'matte-client'
import { usageError } from '../cli-error.ts'
import { isEndOfRun } from '../exit-codes.ts'
import { reasonOf } from '../print/format.ts'
import type { ResultManifest } from './manifest-file.ts'
import type { Job } from './plan.ts'
import type { Report } from './report.ts'
import { decide, hashOf, hashOptions, isSameImage, sizeOfFile } from './results.ts'
import { checkWritable, saveResult } from './save-result.ts'
import { isUrl, nameOfUrl } from './sources.ts'

export type RunOptions = {
  readonly matte: Pick<Matte, 'removeBackgrounds'>
  readonly manifest: ResultManifest | undefined
  readonly report: Report
  /** Options that change the result. */
  readonly remove: RemoveManyOptions
  readonly concurrency: number | 'auto'
  readonly overwrite: boolean
  readonly signal: AbortSignal
  /** Ends jobs that would never end. The client waits for its input before it stops. */
  readonly endJobs?: () => void
}

/** A job on its way to the client. */
type Pending = { readonly job: Job; readonly replace: boolean; readonly sha256: string | undefined }

/** Returns the error that ended the run early, if any. */
export async function runJobs(
  jobs: Iterable<Job> | AsyncIterable<Job>,
  options: RunOptions,
): Promise<{ readonly by: unknown } | undefined> {
  const { matte, manifest, report, remove, concurrency, signal, endJobs = () => undefined } = options
  const pending = new Map<string, Pending>()
  const context: Context = { ...options, pending, optionsHash: hashOptions(remove), ending: undefined }
  signal.addEventListener('abort', endJobs)
  try {
    const results = matte.removeBackgrounds(selectInputs(jobs, context), {
      ...remove,
      concurrency,
      signal,
      onProgress: report.progress,
      ...(manifest && { manifest: manifest.store, done: 'download' as const }),
    })
    for await (const result of results) {
      const each = pending.get(result.key)
      if (each === undefined) continue
      pending.delete(result.key)
      if (result.error) {
        if (context.ending !== undefined || isEndOfRun(result.error)) {
          context.ending ??= { by: result.error }
          endJobs()
          if (!startedCanFinish.has(context.ending.by.code)) return context.ending
          continue
        }
        report.add({ ...describe(each.job), status: 'failed', error: result.error })
        continue
      }
      const problem = await keep(each, result, context)
      if (problem !== undefined && isEndOfRun(problem)) {
        endJobs()
        return { by: problem }
      }
    }
    return context.ending
  } catch (error) {
    return { by: error }
  } finally {
    signal.removeEventListener('abort', endJobs)
  }
}

type Context = RunOptions & {
  readonly pending: Map<string, Pending>
  readonly optionsHash: string
  /** The error that ends the run once the started images are done. */
  ending: { readonly by: MatteError } | undefined
}

/** Nothing new can start, but started images are paid, and their results arrive. */
const startedCanFinish: ReadonlySet<string> = new Set(['CREDITS_INSUFFICIENT', 'DEVELOPER_API_QUOTA_EXCEEDED'])

/** Inputs that need work, read one by one as the client has room for them. */
async function* selectInputs(jobs: Iterable<Job> | AsyncIterable<Job>, context: Context): AsyncGenerator<NamedInput> {
  const { manifest, pending, report, overwrite, optionsHash } = context
  for await (const job of jobs) {
    if (context.ending !== undefined) return
    const key = manifest?.keyOf(job.output) ?? job.output
    const known = manifest?.find(key)
    const wanted = { path: job.output, stamp: job.stamp, options: optionsHash, overwrite }
    const decision = decide(known, wanted, sizeOfFile(job.output))
    if (decision.action === 'skip') {
      report.add({ ...describe(job), status: 'skipped', reason: decision.reason })
      continue
    }
    const { replace } = decision
    const problem = await findProblem(job.output)
    if (problem !== undefined) {
      report.add({ ...describe(job), status: 'failed', error: problem })
      continue
    }
    if (isUrl(job.input)) {
      pending.set(key, { job, replace, sha256: undefined })
      yield { key, input: job.input, fileName: nameOfUrl(job.input) }
      continue
    }
    const bytes = await readFile(job.input).catch((error: unknown) => {
      report.add({ ...describe(job), status: 'failed', error: notRead(job.input, error) })
      return undefined
    })
    if (bytes === undefined) continue
    const sha256 = hashOf(bytes)
    if (!overwrite && isSameImage(known, sha256, optionsHash) && sizeOfFile(job.output) === known?.resultBytes) {
      report.add({ ...describe(job), status: 'skipped', reason: 'done' })
      continue
    }
    pending.set(key, { job, replace, sha256 })
    yield { key, input: bytes, fileName: job.relative.split('/').at(-1) ?? job.relative }
  }
}

/** Node replaces bytes of a name that are not UTF-8, and then cannot open the file. */
const notRead = (path: string, error: unknown) =>
  usageError(
    `The file cannot be read: ${reasonOf(error)}.`,
    path.includes('\ufffd') ? 'Its name is not UTF-8. Rename it.' : 'Check its permissions.',
  )

/** Longest name of most file systems. */
const nameBytesMax = 255

/** A reason why the result could not be written, found before it is paid. */
async function findProblem(path: string): Promise<unknown> {
  if (Buffer.byteLength(basename(path)) > nameBytesMax) {
    return usageError(
      `The name of the result has more than ${nameBytesMax} bytes: ${basename(path)}`,
      'Rename the image. With --out, names of results are shorter.',
    )
  }
  return checkWritable(dirname(path)).catch((error: unknown) => error)
}

const describe = ({ input, output, stamp }: Job) => ({ input, output, sizeBytes: stamp?.sizeBytes })

type Arrived = { readonly key: string; readonly cutout: Cutout; readonly resumed: boolean }

/** Returns the error if the result could not be written. */
async function keep({ job, replace, sha256 }: Pending, { key, cutout, resumed }: Arrived, context: Context) {
  const { manifest, report, optionsHash } = context
  const { taskId, sizeBytes: resultBytes, task } = cutout
  const { input, output, stamp } = job
  const line = { result: key, input, stamp, sha256, options: optionsHash, resultBytes, taskId }
  try {
    await manifest?.record({ ...line, state: 'saving' })
    await saveResult(output, await cutout.bytes(), {
      overwrite: replace,
      isLocked: manifest !== undefined,
    })
    await manifest?.record({ ...line, state: 'saved' })
    const { width, height } = task
    report.add({ ...describe(job), status: 'succeeded', taskId, resumed, resultBytes, width, height })
    return undefined
  } catch (cause) {
    // The task is paid, so its id matters more than ever.
    const message = `The result could not be written: ${reasonOf(cause)}.`
    const isFull = fullCodes.has((cause as NodeJS.ErrnoException).code ?? '')
    const error = new MatteError(isFull ? 'OUTPUT_FULL' : 'OUTPUT_NOT_WRITTEN', message, { taskId, cause })
    // The error of the whole run is printed at its end.
    if (!isFull) report.add({ ...describe(job), status: 'failed', error })
    return error
  }
}

/** Codes of the operating system that every further result would get. */
const fullCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])
