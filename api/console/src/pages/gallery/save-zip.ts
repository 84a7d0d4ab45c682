// Results of tasks as one archive, made in the browser. It streams into a file where the browser can, so its size does
// not matter; elsewhere it is collected in memory, up to a bound.
import { makeZip } from 'client-zip'
import type { Task } from 'matte-client'
import type { Service } from '../../session/use-session.ts'
import { createUniqueNames, resultName, sourceName } from './task-names.ts'

type SavePicker = (options: {
  suggestedName: string
  types: readonly { accept: Readonly<Record<string, readonly string[]>> }[]
}) => Promise<FileSystemFileHandle>

/** Largest archive that is collected in memory. */
export const memoryBytesMax = 500_000_000
/** Results that are on their way at once. */
const aheadMax = 4

export class ZipTooLarge extends Error {
  override name = 'ZipTooLarge'
}

export type ZipOptions = {
  readonly service: Service
  readonly tasks: Iterable<Task> | AsyncIterable<Task>
  readonly name: string
  readonly signal: AbortSignal
  /** Called after each result. */
  readonly onProgress: (doneCount: number) => void
  readonly nameOf?: ((task: Task) => string) | undefined
}

/** Names of the photos whose result could not be fetched. The archive lists them in `missing.txt`. */
export type Zipped = { readonly missing: readonly string[] }

/**
 * Undefined: the person closed the dialog. Call it from a press, because the dialog needs one.
 * @throws ZipTooLarge
 */
export async function saveZip(options: ZipOptions): Promise<Zipped | undefined> {
  const { name, signal } = options
  const { showSaveFilePicker } = window as { showSaveFilePicker?: SavePicker }
  const target = showSaveFilePicker === undefined ? undefined : await pickFile(showSaveFilePicker, name)
  if (target === 'closed') return undefined
  const missing: string[] = []
  const zip = makeZip(readResults(options, missing))
  if (target === undefined) saveBlob(await collect(zip, signal), name)
  else await zip.pipeTo(await target.createWritable(), { signal })
  return { missing }
}

async function pickFile(pick: SavePicker, suggestedName: string): Promise<FileSystemFileHandle | 'closed' | undefined> {
  try {
    return await pick({ suggestedName, types: [{ accept: { 'application/zip': ['.zip'] } }] })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return 'closed'
    // The press was too long ago, or the browser forbids files here.
    return undefined
  }
}

async function collect(zip: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<Blob> {
  let parts: BlobPart[] = []
  let partBytes = 0
  let sizeBytes = 0
  const reader = zip.getReader()
  try {
    for (;;) {
      signal.throwIfAborted()
      const { done, value } = await reader.read()
      if (done) return new Blob(parts, { type: 'application/zip' })
      parts.push(value as Uint8Array<ArrayBuffer>)
      partBytes += value.byteLength
      sizeBytes += value.byteLength
      if (sizeBytes > memoryBytesMax) throw new ZipTooLarge('The archive exceeds what the page may keep in memory.')
      // Browsers may move a blob to the disk, which they cannot do with arrays.
      if (partBytes > blobBytes) [parts, partBytes] = [[new Blob(parts)], 0]
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

const blobBytes = 16_000_000

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), revokeAfterMs)
}

/** The browser has begun the download by then. */
const revokeAfterMs = 60_000

type Entry = { readonly name: string; readonly input: Blob | string; readonly lastModified: Date }

async function* readResults(options: ZipOptions, missing: string[]): AsyncGenerator<Entry> {
  const { service, tasks, signal, onProgress, nameOf = resultName } = options
  const unique = createUniqueNames()
  let doneCount = 0
  const fetchOne = async (task: Task): Promise<Entry | undefined> => {
    try {
      const cutout = await service.tasks.download(task, { signal })
      const lastModified = new Date(task.completedAt ?? task.createdAt)
      return { name: unique(nameOf(task)), input: await cutout.blob(), lastModified }
    } catch (error) {
      if (signal.aborted) throw error
      missing.push(sourceName(task))
      return undefined
    }
  }
  for await (const entry of inOrder(tasks, fetchOne)) {
    onProgress(++doneCount)
    if (entry !== undefined) yield entry
  }
  if (missing.length > 0) yield { name: 'missing.txt', input: `${missing.join('\n')}\n`, lastModified: new Date() }
}

/** Runs ahead by a few items and yields in the order of the input. */
export async function* inOrder<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = []
  for await (const item of items) {
    const one = work(item)
    // Its error is thrown in turn, or dropped with the archive.
    one.catch(() => undefined)
    running.push(one)
    if (running.length < aheadMax) continue
    yield await (running.shift() as Promise<R>)
  }
  for (const one of running) yield await one
}
