// Runs over folders. They belong to the tab and go on while other pages are shown. The client uploads a few photos at
// a time and records each step in a manifest, so a run that is continued after a reload pays nothing twice.
import type { MatteError } from 'matte-client/app'
import type { Service } from '../../session/use-session.ts'
import type { Folder } from './photos.ts'
import { addEnd, type Failure, type Run, type RunRecord, readDone } from './run-progress.ts'
import { openRunStorage, type RunStorage } from './run-storage.ts'

type Running = { readonly aborting: AbortController; readonly active: Set<string> }

export type Runs = {
  readonly get: () => readonly Run[]
  readonly subscribe: (listener: () => void) => () => void
  /** Loads the runs of a workspace; a run of another one stops. */
  readonly load: (scope: string) => Promise<void>
  readonly start: (service: Service, scope: string, folder: Folder) => Promise<void>
  /** `folder`: the same one, chosen again. Photos that are done are skipped. */
  readonly resume: (service: Service, runId: string, folder: Folder) => Promise<void>
  /** Cancels what is still queued; `resume` creates it again. */
  readonly pause: (runId: string) => void
  readonly forget: (runId: string) => Promise<void>
}

/** Failures that are stored. A run with more has one cause. */
const failuresMax = 2_000
/** Listeners are called at most this often. */
const tellEveryMs = 250

/** No other photo of the run will fare better. */
const endsRun = (error: MatteError): boolean =>
  error.status === 401 ||
  error.status === 403 ||
  error.code === 'CREDITS_INSUFFICIENT' ||
  error.code === 'DEVELOPER_API_QUOTA_EXCEEDED' ||
  error.code === 'TASK_MAINTENANCE'

export function createRuns(): Runs {
  let runs: readonly Run[] = []
  let loadedScope: string | undefined
  let storing: Promise<RunStorage> | undefined
  let telling: ReturnType<typeof setTimeout> | undefined
  const running = new Map<string, Running>()
  const listeners = new Set<() => void>()
  const storage = (): Promise<RunStorage> => {
    storing ??= openRunStorage()
    return storing
  }
  const tell = (): void => {
    if (telling !== undefined) return
    telling = setTimeout(() => {
      telling = undefined
      for (const listener of listeners) listener()
    }, tellEveryMs)
  }
  const set = (next: readonly Run[]): void => {
    runs = next
    tell()
  }
  const change = (id: string, by: (run: Run) => Partial<Run>): void =>
    set(runs.map((run) => (run.id === id ? { ...run, ...by(run) } : run)))
  const find = (id: string): Run | undefined => runs.find((run) => run.id === id)

  const save = async (id: string): Promise<void> => {
    const run = find(id)
    if (run !== undefined) await (await storage()).put(toRecord(run))
  }

  async function go(service: Service, id: string, folder: Folder): Promise<void> {
    const mine: Running = { aborting: new AbortController(), active: new Set() }
    const { signal } = mine.aborting
    running.set(id, mine)
    change(id, () => ({ state: 'running', failures: [], endsMs: [], stopped: undefined }))
    let stopped: unknown
    try {
      const manifest = (await storage()).manifest(id)
      const inputs = folder.photos.map(({ path, file }) => ({ key: path, input: file, fileName: file.name }))
      const onProgress = ({ key }: { readonly key: string }): void => {
        if (mine.active.has(key)) return
        mine.active.add(key)
        change(id, () => ({ activeCount: mine.active.size }))
      }
      for await (const { key, cutout, error } of service.removeBackgrounds(inputs, { manifest, signal, onProgress })) {
        mine.active.delete(key)
        change(id, (run) => ({
          activeCount: mine.active.size,
          endsMs: addEnd(run.endsMs, Date.now()),
          ...(cutout !== undefined && { done: new Map([...run.done, [key, cutout.taskId]]) }),
          ...(error !== undefined && { failures: [...run.failures, toFailure(key, error)].slice(0, failuresMax) }),
        }))
        if (error === undefined || !endsRun(error)) continue
        stopped = error
        break
      }
    } catch (error) {
      if (!signal.aborted) stopped = error
    } finally {
      running.delete(id)
      const isWhole = (run: Run): boolean => run.done.size + run.failures.length >= run.totalCount
      change(id, (run) => ({
        state: stopped === undefined && isWhole(run) ? 'finished' : 'paused',
        activeCount: 0,
        stopped,
      }))
      await save(id).catch(() => undefined)
    }
  }

  return {
    get: () => runs,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    load: async (scope) => {
      if (loadedScope === scope) return
      loadedScope = scope
      for (const { aborting } of running.values()) aborting.abort()
      set([])
      const store = await storage()
      const records = await store.list(scope)
      const loaded = await Promise.all(
        records.map(async (record) => fromRecord(record, readDone(await store.manifest(record.id).read()))),
      )
      if (loadedScope === scope) set(loaded)
    },
    start: async (service, scope, folder) => {
      const record: RunRecord = {
        id: crypto.randomUUID(),
        scope,
        name: folder.name,
        createdAt: new Date().toISOString(),
        totalCount: folder.photos.length,
        failures: [],
        ...(folder.handle !== undefined && { handle: folder.handle }),
      }
      // Stored first: a reload in the next moment must find it.
      await (await storage()).put(record)
      set([fromRecord(record, new Map()), ...runs])
      await go(service, record.id, folder)
    },
    resume: async (service, id, folder) => {
      if (running.has(id)) return
      const { handle } = folder
      change(id, () => ({ totalCount: folder.photos.length, ...(handle !== undefined && { handle }) }))
      await go(service, id, folder)
    },
    pause: (id) => running.get(id)?.aborting.abort(),
    forget: async (id) => {
      running.get(id)?.aborting.abort()
      await (await storage()).remove(id)
      set(runs.filter((run) => run.id !== id))
    },
  }
}

const toFailure = (path: string, { code, message }: MatteError): Failure => ({ path, code, message })

const toRecord = ({ id, scope, name, createdAt, totalCount, failures, handle }: Run): RunRecord => ({
  id,
  scope,
  name,
  createdAt,
  totalCount,
  failures,
  ...(handle !== undefined && { handle }),
})

const fromRecord = (record: RunRecord, done: ReadonlyMap<string, string>): Run => ({
  ...record,
  state: done.size + record.failures.length >= record.totalCount ? 'finished' : 'paused',
  done,
  activeCount: 0,
  endsMs: [],
  stopped: undefined,
})
