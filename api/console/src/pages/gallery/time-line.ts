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
  /** Time since the moment before in the same run. */
  readonly sinceMs: number | undefined
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
    const sinceMs = before?.run === run ? Date.parse(at) - Date.parse(before.at) : undefined
    return { id, type, at, run, attempt, message, sinceMs }
  })
  const lastRun = moments.at(-1)?.run
  const ofRun = moments.filter(({ run }) => run === lastRun)
  const parts = ofRun.flatMap(({ id, type, sinceMs }, index): Part[] => {
    const before = ofRun[index - 1]?.type
    if (sinceMs === undefined || before === undefined) return []
    const kind = before !== 'processing' ? 'wait' : type === 'succeeded' ? 'work' : 'lost'
    return [{ id, kind, ms: Math.max(0, sinceMs) }]
  })
  return { moments, parts }
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
