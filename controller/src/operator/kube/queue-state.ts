// State of one key of a work queue; a pure state machine. work-queue.ts adds timers and order.
//
//               add              begin            succeed
//   (unknown) ─────► due ───────────────► running ─────► (unknown), due if added meanwhile, or waiting
//                    ▲ ▲                     │ fail
//   waiting ──ring───┘ └──ring── backoff ◄───┘
//
// Adding a key does not shorten its backoff, because more events do not help an overloaded API server. Conflicts are
// counted separately, because another writer was faster and nothing is wrong.

/** `atMs`: latest time of the next pass by the monotonic clock; the earliest request counts. */
type Timed = { readonly failures: number; readonly conflicts: number; readonly atMs: number }
type Running = Timed & { readonly state: 'running'; readonly again: boolean }
export type KeyState =
  | (Timed & { readonly state: 'waiting' | 'due' })
  | Running
  | (Timed & { readonly state: 'backoff'; readonly untilMs: number })

const never = Number.POSITIVE_INFINITY
const unknown: KeyState = { state: 'waiting', failures: 0, conflicts: 0, atMs: never }

export function add(key: KeyState = unknown): KeyState {
  if (key.state === 'running') return { ...key, again: true }
  return key.state === 'waiting' ? { ...key, state: 'due' } : key
}

export const addAt = (atMs: number, key: KeyState = unknown): KeyState => ({ ...key, atMs: Math.min(key.atMs, atMs) })

export const begin = ({ failures, conflicts, atMs }: KeyState = unknown): Running => ({
  state: 'running',
  failures,
  conflicts,
  atMs,
  again: false,
})

/** Undefined if the key can be forgotten. */
export function succeed({ again, atMs }: Running, requeueAtMs = never): KeyState | undefined {
  const timed = { failures: 0, conflicts: 0, atMs: Math.min(atMs, requeueAtMs) }
  if (again) return { ...timed, state: 'due' }
  return timed.atMs === never ? undefined : { ...timed, state: 'waiting' }
}

export const fail = (running: Running, untilMs: number, row: 'failures' | 'conflicts' = 'failures'): KeyState => {
  const { failures, conflicts, atMs } = running
  return { state: 'backoff', failures, conflicts, atMs, [row]: running[row] + 1, untilMs }
}

export const nextRingMs = (key: KeyState): number =>
  key.state === 'backoff' ? Math.min(key.untilMs, key.atMs) : key.atMs

export function ring(key: KeyState, nowMs: number): KeyState {
  const added = key.atMs <= nowMs ? add({ ...key, atMs: never }) : key
  if (added.state !== 'backoff' || added.untilMs > nowMs) return added
  return { state: 'due', failures: added.failures, conflicts: added.conflicts, atMs: added.atMs }
}
