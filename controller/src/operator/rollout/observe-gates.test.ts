import { describe, expect, it } from 'vitest'
import { at, did, plan, seen, trying } from './rollout.fixtures.ts'

const revisions = [seen('old', 9), seen('new', 1)]
const verdicts = ({ gates }: ReturnType<typeof plan>) =>
  Object.fromEntries(gates.map(({ gate, verdict }) => [gate, verdict]))
const valuesOf = ({ gates }: ReturnType<typeof plan>) =>
  Object.fromEntries(gates.map(({ gate, observed, limit }) => [gate, [observed, limit]]))

describe('the gates of a step', () => {
  it('have no values without a rollout', () => {
    expect(plan({ revisions: [seen('new', 10)] }).gates).toEqual([])
  })

  it('are readiness alone before the canary has a pod', () => {
    const starting = plan({ state: trying(-1, 0), revisions: [seen('old', 10)] })
    expect(starting.gates).toEqual([
      {
        ...{ gate: 'readiness', verdict: 'waiting', observed: 0, limit: 1 },
        sentence: '0 of 1 pods of the new revision are ready.',
      },
    ])
  })

  it('wait for requests and time', () => {
    const counts = new Map([['old', did(300)]])
    const step = plan({ state: trying(0, 10), revisions, counts, now: at(30) })
    expect(verdicts(step)).toEqual({
      ...{ readiness: 'passed', errorRate: 'notMeasured', latency: 'notMeasured' },
      ...{ requests: 'waiting', duration: 'waiting' },
    })
    expect(valuesOf(step)).toEqual({
      ...{ readiness: [1, 1], errorRate: [null, 0.02], latency: [null, 1.5] },
      ...{ requests: [0, 50], duration: [30, 60] },
    })
  })

  it('all pass in the pass that begins the next step', () => {
    const counts = new Map([
      ['old', did(300)],
      ['new', did(59, { failed: 1, serviceSeconds: 0.6 })],
    ])
    const step = plan({ state: trying(0, 10, { weightReached: true }), revisions, counts, now: at(61) })
    expect(step.event?.reason).toBe('RolloutStep')
    expect(new Set(Object.values(verdicts(step)))).toEqual(new Set(['passed']))
    expect(valuesOf(step)).toMatchObject({ errorRate: [0.017, 0.02], latency: [1.2, 1.5], requests: [60, 50] })
  })

  it.each([
    ['errorRate', did(50, { failed: 10 })],
    ['latency', did(60, { serviceSeconds: 1 })],
  ] as const)('show that %s rolls the canary back', (gate, canary) => {
    const counts = new Map([
      ['old', did(300)],
      ['new', canary],
    ])
    const step = plan({ state: trying(0, 10), revisions, counts, now: at(30) })
    expect(step.event?.reason).toBe('RolloutRolledBack')
    expect(Object.entries(verdicts(step)).filter(([, verdict]) => verdict === 'failed')).toEqual([[gate, 'failed']])
  })

  it('show that a canary without a ready pod is rolled back', () => {
    const step = plan({ state: trying(-1, 0), revisions: [seen('old', 10)], now: at(601) })
    expect(step.event?.reason).toBe('RolloutRolledBack')
    expect(verdicts(step)).toEqual({ readiness: 'failed' })
  })
})
