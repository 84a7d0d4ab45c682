// New and changed images of folders, as an endless queue.

import { stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { watch } from 'chokidar'
import { usageError } from '../cli-error.ts'
import { isBelow, isWanted, type SearchOptions, type Source, toStamp } from './sources.ts'

export type Watching = {
  readonly sources: AsyncIterable<Source>
  /** To be called for each source that was handled: a change in the meantime queues it again. */
  finished(input: string): void
  close(): Promise<void>
}

/** A file counts as written when its size has not changed for this long. */
const settledMs = 500

/** @throws CliError unless all are folders */
export async function watchFolders(folders: readonly string[], { outDir }: SearchOptions): Promise<Watching> {
  for (const folder of folders) {
    const isFolder = await stat(folder).then(
      (entry) => entry.isDirectory(),
      () => false,
    )
    if (!isFolder) throw usageError(`${folder} is no folder.`, '--watch takes folders.')
  }
  const queue = createQueue()
  const watcher = watch([...folders], {
    ignored: (path) =>
      (basename(path).startsWith('.') && !folders.includes(path)) || (outDir !== undefined && isBelow(path, outDir)),
    awaitWriteFinish: { stabilityThreshold: settledMs, pollInterval: 100 },
  })
  const add = (path: string): void => {
    if (isWanted(path)) queue.add(join(path))
  }
  watcher.on('add', add).on('change', add)
  return {
    sources: toSources(queue.paths(), folders),
    finished: (input) => queue.finished(input),
    close: async () => {
      queue.end()
      await watcher.close()
    },
  }
}

async function* toSources(paths: AsyncIterable<string>, folders: readonly string[]): AsyncGenerator<Source> {
  for await (const path of paths) {
    const folder = folders.find((each) => isBelow(path, each)) ?? '.'
    const entry = await stat(path).catch(() => undefined)
    if (entry === undefined) continue
    yield { input: path, relative: relative(folder, path), stamp: toStamp(entry) }
  }
}

/** Each path is in work at most once, so a slow older result never replaces a newer one. */
export function createQueue() {
  const waiting = new Set<string>()
  const inWork = new Set<string>()
  const changed = new Set<string>()
  let isEnded = false
  let wake = (): void => undefined
  return {
    add: (path: string): void => {
      if (inWork.has(path)) changed.add(path)
      else waiting.add(path)
      wake()
    },
    finished: (path: string): void => {
      inWork.delete(path)
      if (changed.delete(path)) waiting.add(path)
      wake()
    },
    end: (): void => {
      isEnded = true
      wake()
    },
    async *paths(): AsyncGenerator<string> {
      while (!isEnded) {
        const [next] = waiting
        if (next === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          continue
        }
        waiting.delete(next)
        inWork.add(next)
        yield next
      }
    },
  }
}
