// One key of a work queue, as a pure state machine. Timers, order and the work are the shell's (../work-queue.ts).
//
//              add              begin            succeed
//   (unknown) ─────► due ───────────────► running ─────► (unknown), due if added meanwhile, or waiting
//                    ▲ ▲                     │ fail
//   waiting ──ring───┘ └──ring── backoff ◄───┘
//
// A key that failed backs off, longer each time, and is not hurried by being added: what fails because the API server
// is overloaded is not helped by more events. Of an unknown key nothing is kept. Conflicts are counted apart from
// failures, because another writer was faster and nothing is wrong.

/** `atMs`: when it is added at the latest, by the monotonic clock; of several such times the earliest counts. */
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

/** Undefined: there is nothing to keep of the key. */
export function succeed({ again, atMs }: Running, requeueAtMs = never): KeyState | undefined {
  const timed = { failures: 0, conflicts: 0, atMs: Math.min(atMs, requeueAtMs) }
  if (again) return { ...timed, state: 'due' }
  return timed.atMs === never ? undefined : { ...timed, state: 'waiting' }
}

/** `row`: the one of the two in which this end counts. */
export const fail = (running: Running, untilMs: number, row: 'failures' | 'conflicts' = 'failures'): KeyState => {
  const { failures, conflicts, atMs } = running
  return { state: 'backoff', failures, conflicts, atMs, [row]: running[row] + 1, untilMs }
}

/** When `ring` is to be called; infinite: never. */
export const nextRingMs = (key: KeyState): number =>
  key.state === 'backoff' ? Math.min(key.untilMs, key.atMs) : key.atMs

export function ring(key: KeyState, nowMs: number): KeyState {
  const added = key.atMs <= nowMs ? add({ ...key, atMs: never }) : key
  if (added.state !== 'backoff' || added.untilMs > nowMs) return added
  return { state: 'due', failures: added.failures, conflicts: added.conflicts, atMs: added.atMs }
}
