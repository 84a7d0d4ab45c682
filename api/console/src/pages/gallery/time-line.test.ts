import type { Task } from 'matte-client'
import type { App } from 'matte-client/app'
import { describe, expect, it } from 'vitest'
import { buildTimeLine, eventsOfTask } from './time-line.ts'

const at = (ms: number): string => new Date(Date.UTC(2026, 10, 24) + ms).toISOString()

const event = (type: App.TaskEvent['event_type'], ms: number, run = 1, attempt?: number): App.TaskEvent => ({
  id: `${run}-${type}-${ms}`,
  event_type: type,
  event_payload: { run, at: at(ms), ...(attempt !== undefined && { attempt }) },
})

type Payload = App.TaskEvent['event_payload']

const withStages = (of: App.TaskEvent, stages_ms: NonNullable<Payload['stages_ms']>): App.TaskEvent => ({
  ...of,
  event_payload: { ...of.event_payload, pod: 'general-x2x7q', model: 'u2netp', stages_ms },
})

describe('the time line', () => {
  it('tells waiting, lost attempts and work apart', () => {
    const { parts } = buildTimeLine([
      event('queued', 0),
      event('processing', 300, 1, 1),
      event('attempt_failed', 800, 1, 1),
      event('processing', 1_000, 1, 2),
      event('succeeded', 1_900, 1, 2),
    ])
    expect(parts.map(({ kind, ms }) => [kind, ms])).toEqual([
      ['wait', 300],
      ['lost', 500],
      ['wait', 200],
      ['work', 900],
    ])
  })

  it('shows the parts of the last run, and measures nothing between runs', () => {
    const { moments, parts } = buildTimeLine([
      event('queued', 0),
      event('processing', 10),
      event('failed', 20),
      event('retried', 60_000, 2),
      event('processing', 60_040, 2),
    ])
    expect(moments.map(({ sinceMs }) => sinceMs)).toEqual([undefined, 10, 10, undefined, 40])
    expect(parts.map(({ kind, ms }) => [kind, ms])).toEqual([['wait', 40]])
  })

  it('shows the stages of an attempt one after another, and what none of them measured', () => {
    const [queued, claimed, done] = [event('queued', 0), event('processing', 300, 1, 1), event('succeeded', 900, 1, 1)]
    const { moments } = buildTimeLine([
      queued,
      claimed,
      withStages(done, { store: 20, infer: 400, fetch: 30, wait: 100 }),
    ])
    expect(moments.map(({ work }) => work?.bars)).toEqual([
      undefined,
      undefined,
      [
        { stage: 'fetch', startMs: 0, ms: 30 },
        { stage: 'wait', startMs: 30, ms: 100 },
        { stage: 'infer', startMs: 130, ms: 400 },
        { stage: 'store', startMs: 530, ms: 20 },
        { stage: 'other', startMs: 550, ms: 50 },
      ],
    ])
    expect(moments.at(-1)?.work).toMatchObject({ pod: 'general-x2x7q', model: 'u2netp', totalMs: 600 })
  })

  it('tells the pause before a later attempt from its work', () => {
    const { parts } = buildTimeLine([
      event('queued', 0),
      event('processing', 100, 1, 1),
      withStages(event('attempt_failed', 400, 1, 1), { infer: 290 }),
      withStages(event('succeeded', 1_900, 1, 2), { infer: 480 }),
    ])
    expect(parts.map(({ kind, ms }) => [kind, ms])).toEqual([
      ['wait', 100],
      ['lost', 300],
      ['wait', 1_020],
      ['work', 480],
    ])
  })

  it('is empty without events', () => {
    expect(buildTimeLine([])).toEqual({ moments: [], parts: [] })
  })
})

describe('a task without a readable history', () => {
  const task = { status: 'succeeded', createdAt: at(0), completedAt: at(2_000), durationMs: 500, retryCount: 0 }

  it('still says how long it waited and worked', () => {
    const { moments, parts } = buildTimeLine(eventsOfTask({ ...task, failure: null } as Task))
    expect(moments.map(({ type }) => type)).toEqual(['queued', 'processing', 'succeeded'])
    expect(parts.map(({ kind, ms }) => [kind, ms])).toEqual([
      ['wait', 1_500],
      ['work', 500],
    ])
  })

  it('has the reason of a failure', () => {
    const failure = { reason: 'INPUT_UNREADABLE', message: 'Damaged.', retryable: false }
    const { moments } = buildTimeLine(eventsOfTask({ ...task, status: 'failed', failure } as Task))
    expect(moments.at(-1)).toMatchObject({ type: 'failed', message: 'Damaged.' })
  })
})
