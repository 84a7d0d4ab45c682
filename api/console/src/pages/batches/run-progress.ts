// State of a run over a folder, as pure functions.

export type Failure = { readonly path: string; readonly code: string; readonly message: string }

export type RunState = 'running' | 'paused' | 'finished'

/** Stored in the browser, so a reload loses nothing. */
export type RunRecord = {
  readonly id: string
  /** The workspace or key it belongs to. */
  readonly scope: string
  readonly name: string
  readonly createdAt: string
  readonly totalCount: number
  readonly failures: readonly Failure[]
  readonly handle?: FileSystemDirectoryHandle | undefined
}

export type Run = RunRecord & {
  readonly state: RunState
  /** Task of each photo that is done. */
  readonly done: ReadonlyMap<string, string>
  readonly activeCount: number
  /** Ends of photos, oldest first, for the rate. */
  readonly endsMs: readonly number[]
  /** Why it paused by itself. */
  readonly stopped: unknown
}

export type Numbers = {
  readonly doneCount: number
  readonly failedCount: number
  readonly activeCount: number
  readonly waitingCount: number
  readonly perMinute: number | undefined
  readonly leftMs: number | undefined
}

const rateWindowMs = 60_000
/** Ends that a rate needs to mean something. */
const endsMin = 3

export function countRun(run: Run, nowMs: number): Numbers {
  const { totalCount, done, failures, activeCount, endsMs, state } = run
  const waitingCount = Math.max(0, totalCount - done.size - failures.length - activeCount)
  const recent = endsMs.filter((endMs) => endMs > nowMs - rateWindowMs)
  const [firstMs] = recent
  const isRated = state === 'running' && firstMs !== undefined && recent.length >= endsMin && nowMs > firstMs
  const perMs = isRated ? recent.length / (nowMs - firstMs) : undefined
  return {
    doneCount: done.size,
    failedCount: failures.length,
    activeCount,
    waitingCount,
    perMinute: perMs === undefined ? undefined : perMs * 60_000,
    leftMs: perMs === undefined ? undefined : (waitingCount + activeCount) / perMs,
  }
}

export const addEnd = (endsMs: readonly number[], nowMs: number): number[] => [
  ...endsMs.filter((endMs) => endMs > nowMs - rateWindowMs),
  nowMs,
]

/** Photos that a manifest of the client records as done, with their tasks. */
export function readDone(manifest: string): Map<string, string> {
  const done = new Map<string, string>()
  for (const line of manifest.split('\n')) {
    const entry = parse(line)
    if (typeof entry?.key !== 'string') continue
    if (entry.state === 'done' && typeof entry.taskId === 'string') done.set(entry.key, entry.taskId)
    // The photo was started again after it was done.
    else done.delete(entry.key)
  }
  return done
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

export type Reason = { readonly code: string; readonly message: string; readonly paths: readonly string[] }

/** Failures by their reason, the most frequent first. */
export function groupFailures(failures: readonly Failure[]): Reason[] {
  const groups = Object.values(Object.groupBy(failures, ({ code, message }) => `${code} ${message}`))
  return groups
    .flatMap((group) => {
      const [first] = group ?? []
      return group === undefined || first === undefined
        ? []
        : [{ code: first.code, message: first.message, paths: group.map(({ path }) => path) }]
    })
    .sort((a, b) => b.paths.length - a.paths.length)
}

/** Path of a result in the archive: folders stay, the ending is that of the result. */
export const resultPath = (path: string, format: string): string =>
  `${path.replace(/\.[^./]+$/, '')}.${format === 'jpeg' ? 'jpg' : format}`
