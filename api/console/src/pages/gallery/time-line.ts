// The history of a task as a time line: what happened, and how long each part took.
import type { Task } from 'matte-client'
import type { App } from 'matte-client/app'

type EventType = App.TaskEvent['event_type']

export type Moment = {
  readonly id: string
  readonly type: EventType
  readonly at: string
  readonly run: number
  readonly attempt: number | undefined
  readonly message: string | undefined
  /** The credit was released, because no subject was found. */
  readonly isFree: boolean
  /** Set on the end of an attempt. */
  readonly work: Work | undefined
  /** Time since the moment before in the same run. */
  readonly sinceMs: number | undefined
}

type Stages = NonNullable<App.TaskEvent['event_payload']['stages_ms']>
export type Stage = keyof Stages

/** Order of the work. */
const stageOrder: readonly Stage[] = ['fetch', 'decode', 'prepare', 'wait', 'infer', 'refine', 'encode', 'store']

export type Bar = { readonly stage: Stage | 'other'; readonly startMs: number; readonly ms: number }

export type Work = {
  readonly pod: string | undefined
  readonly pool: string | undefined
  readonly model: string | undefined
  readonly revision: string | undefined
  /** One after another. The worker sums `wait` up, so it is shown where most of it happens. */
  readonly bars: readonly Bar[]
  readonly totalMs: number
}

/** A stretch of time. `lost`: an attempt that failed. */
export type Part = { readonly id: string; readonly kind: 'wait' | 'work' | 'lost'; readonly ms: number }

export type TimeLine = {
  readonly moments: readonly Moment[]
  /** Parts of the last run. */
  readonly parts: readonly Part[]
}

export function buildTimeLine(events: readonly App.TaskEvent[]): TimeLine {
  const moments = events.map(({ id, event_type: type, event_payload: payload }, index): Moment => {
    const before = events[index - 1]?.event_payload
    const { at, run, attempt, message } = payload
    const isFree = payload.charged === false
    const sinceMs = before?.run === run ? Date.parse(at) - Date.parse(before.at) : undefined
    const isFirst = events[index - 1]?.event_type === 'processing'
    const work = workOf(payload, isFirst ? sinceMs : undefined)
    return { id, type, at, run, attempt, message, isFree, sinceMs, work }
  })
  const lastRun = moments.at(-1)?.run
  const ofRun = moments.filter(({ run }) => run === lastRun)
  const parts = ofRun.flatMap(({ id, type, sinceMs, work }, index): Part[] => {
    const before = ofRun[index - 1]?.type
    if (sinceMs === undefined || before === undefined) return []
    const ended = type === 'succeeded' ? 'work' : 'lost'
    const ms = Math.max(0, sinceMs)
    if (before === 'processing') return [{ id, kind: ended, ms }]
    // Only the first claim of a run is an event; a later attempt says how long it took.
    const workMs = Math.min(ms, work?.totalMs ?? 0)
    const wait: Part = { id: `${id} wait`, kind: 'wait', ms: ms - workMs }
    return work === undefined ? [wait] : [wait, { id, kind: ended, ms: workMs }]
  })
  return { moments, parts }
}

/** `spentMs`: from the claim to the end, if both are events. Time outside the stages is `other`. */
function workOf(
  { pod, pool, model, revision, stages_ms: stages }: App.TaskEvent['event_payload'],
  spentMs: number | undefined,
): Work | undefined {
  if (stages === undefined) return undefined
  const bars: Bar[] = []
  let startMs = 0
  const add = (stage: Bar['stage'], ms: number): void => {
    bars.push({ stage, startMs, ms })
    startMs += ms
  }
  for (const stage of stageOrder) {
    const ms = stages[stage]
    if (ms !== undefined) add(stage, ms)
  }
  if (spentMs !== undefined && spentMs > startMs) add('other', spentMs - startMs)
  return { pod, pool, model, revision, bars, totalMs: startMs }
}

/** History that the task implies. API keys cannot read the events, so attempts in between are unknown. */
export function eventsOfTask(task: Task): App.TaskEvent[] {
  const run = task.retryCount + 1
  const event = (event_type: EventType, at: string, rest: { readonly message?: string } = {}): App.TaskEvent => ({
    id: event_type,
    event_type,
    event_payload: { run, at, ...rest },
  })
  const events = [event('queued', task.createdAt)]
  const { status, completedAt, durationMs } = task
  if (status === 'processing') events.push(event('processing', task.createdAt))
  if (completedAt === null || status === 'queued' || status === 'processing') return events
  if (status === 'succeeded' && durationMs !== undefined) {
    events.push(event('processing', new Date(Date.parse(completedAt) - durationMs).toISOString()))
  }
  events.push(event(status, completedAt, task.failure === null ? {} : { message: task.failure.message }))
  return events
}
