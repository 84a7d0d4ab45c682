import { describe, expect, it } from 'vitest'
import { at, did, plan, rollout, seen, time, trying } from './rollout.fixtures.ts'

const paused = { isPaused: true, promote: undefined }
const free = { isPaused: false, promote: undefined }
const promoted = (promote: string, isPaused = false) => ({ isPaused, promote })
const settled = { stable: 'old', weight: 0, step: -1, since: time(-900) }
const both = [seen('old', 9), seen('new', 1)]
const healthy = new Map([
  ['old', did(500)],
  ['new', did(100)],
])

describe('a paused rollout', () => {
  it('keeps its weight and its pods for any length of time', () => {
    const state = trying(0, 10)
    const next = plan({ state, revisions: both, counts: healthy, now: at(100_000), controls: paused })
    expect(next.state).toEqual({ ...state, pausedSince: time(100_000) })
    expect(next.pods).toEqual({ old: 9, new: 1 })
    expect(next.held?.reason).toBe('RolloutPaused')
    expect(next.event?.reason).toBe('RolloutPaused')
    const later = plan({ state: next.state, revisions: both, counts: healthy, now: at(200_000), controls: paused })
    expect(later.state).toEqual(next.state)
    expect(later.event).toBeUndefined()
  })

  it('is not rolled back because its pods take too long', () => {
    const { state } = plan({ state: trying(-1, 0), revisions: [seen('old', 10)], now: at(601), controls: paused })
    expect(state).toMatchObject({ canary: 'new', step: -1 })
    expect(state.failed).toBeUndefined()
  })

  it('is rolled back by errors, and is then no longer paused', () => {
    const counts = new Map([...healthy, ['new', did(50, { failed: 50 })]])
    const { state } = plan({
      state: trying(0, 10, { pausedSince: time(5) }),
      revisions: both,
      counts,
      controls: paused,
    })
    expect(state.failed).toMatchObject({ revision: 'new', reason: 'CanaryErrorRate' })
    expect(state).not.toHaveProperty('pausedSince')
  })

  it('is rolled back by crashes', () => {
    const problem = { reason: 'PodCrashing', message: 'Pod x has restarted 3 times.' } as const
    const revisions = [seen('old', 9), seen('new', 1, { problem })]
    const { state } = plan({ state: trying(0, 10), revisions, controls: paused })
    expect(state.failed).toMatchObject({ reason: 'CanaryNotReady' })
  })

  it('restarts its step when it resumes', () => {
    const state = trying(0, 10, { pausedSince: time(30), shortfall: { since: time(20), ready: 0 } })
    const next = plan({ state, revisions: both, counts: healthy, now: at(1_000), controls: free })
    expect(next.state).toEqual(trying(0, 10, { since: time(1_000) }))
    expect(next.event?.reason).toBe('RolloutResumed')
  })

  it('does not begin', () => {
    const next = plan({ state: settled, revisions: [seen('old', 10)], controls: paused })
    expect(next.state).toEqual(settled)
    expect(next.held?.reason).toBe('RolloutPaused')
  })

  it('moves the requests back when the spec is reverted', () => {
    const state = trying(2, 90, { pausedSince: time(0) })
    const back = { state, revisions: [seen('old', 1), seen('new', 9)], controls: paused }
    for (const target of ['old', 'newest']) {
      const next = plan({ ...back, target })
      expect(next.state.shortfall?.revision).toBe('old')
      expect(next.state).not.toHaveProperty('pausedSince')
    }
  })
})

describe('a promotion by the owner', () => {
  const last = rollout.steps.length

  it('enters the last step: all requests as its pods become ready', () => {
    const next = plan({ state: trying(0, 10), revisions: both, controls: promoted('new') })
    expect(next.state).toMatchObject({ stable: 'old', canary: 'new', step: last })
    expect(next.pods).toEqual({ old: 9, new: 2 })
  })

  it('overrides a pause until the end', () => {
    const state = trying(0, 10, { pausedSince: time(0) })
    const next = plan({ state, revisions: both, controls: promoted('new', true) })
    expect(next.state).toMatchObject({ step: last })
    const done = plan({
      state: next.state,
      revisions: [seen('old', 1), seen('new', 10)],
      controls: promoted('new', true),
    })
    expect(done.state).toMatchObject({ stable: 'new' })
  })

  it.each([
    ['another revision', promoted('other'), both],
    ['a revision without a ready pod', promoted('new'), [seen('old', 10), seen('new', 0)]],
  ])('has no effect for %s', (_what, controls, revisions) => {
    const state = trying(-1, 0, { since: time(0) })
    const start = revisions === both ? trying(0, 10) : state
    expect(plan({ state: start, revisions, controls, now: at(1) }).state.step).toBe(start.step)
  })

  it('has no effect for a revision that was rolled back', () => {
    const failed = { revision: 'new', reason: 'CanaryErrorRate', message: 'no', time: time(0) } as const
    const state = { ...settled, failed }
    expect(plan({ state, revisions: [seen('old', 10)], controls: promoted('new') }).state).toEqual(state)
  })
})

describe('the turn of a rollout', () => {
  const turn = 'CONCURRENT_ROLLOUTS allows 2 at once, in progress: a, b'
  const waiting = { ...free, turn }

  it('delays the start', () => {
    const next = plan({ state: settled, revisions: [seen('old', 10)], controls: waiting })
    expect(next.state).toEqual(settled)
    expect(next.pods).toEqual({ old: 10 })
    expect(next.held).toEqual({
      reason: 'RolloutQueued',
      message: `Revision new waits for its turn, and old serves: ${turn}. Wait.`,
    })
  })

  it('does not delay a pool with a stable revision that serves nothing', () => {
    expect(plan({ state: settled, revisions: [seen('old', 0)], controls: waiting }).state.canary).toBe('new')
  })

  it('delays a pool at zero', () => {
    const next = plan({ state: settled, desired: 0, revisions: [seen('old', 0)], controls: waiting })
    expect(next.held?.reason).toBe('RolloutQueued')
  })

  it('does not delay a rollback or a rollout in progress', () => {
    const late = [seen('old', 1), seen('new', 9)]
    const back = plan({ target: 'old', state: trying(2, 90), revisions: late, controls: waiting })
    expect(back.state.shortfall?.revision).toBe('old')
    expect(plan({ state: trying(0, 10), revisions: both, controls: waiting }).held).toBeUndefined()
  })
})
