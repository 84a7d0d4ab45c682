import { describe, expect, it } from 'vitest'
import { at, did, plan, rollout, seen, time, trying } from './rollout.fixtures.ts'

const slow = new Map([
  ['new', did(500, { serviceSeconds: 2 })],
  ['old', did(50)],
])
const late = [seen('old', 1), seen('new', 9)]
const noRoom = { noRoom: { reason: 'PodUnschedulable', message: 'No node has room.' } } as const
const failed = { revision: 'new', reason: 'CanaryLatency', message: 'x', time: time(0) } as const
const shortfall = { revision: 'old', since: time(0), ready: 1 }
const returning = trying(2, 90, { failed, shortfall })

describe('a rollback', () => {
  it('goes pod by pod like the rollout, and its weight follows', () => {
    const first = plan({ state: trying(2, 90), revisions: late, counts: slow, now: at(90) })
    expect(first.state).toMatchObject({ stable: 'old', canary: 'new', weight: 90, failed: { reason: 'CanaryLatency' } })
    expect(first.state).toMatchObject({ since: time(90), shortfall: { revision: 'old', since: time(90), ready: 1 } })
    expect(first.pods).toEqual({ old: 2, new: 9 })
    expect(first.event?.reason).toBe('RolloutRolledBack')
    const second = plan({ state: first.state, revisions: [seen('old', 2), seen('new', 9)], counts: slow, now: at(95) })
    expect(second.state).toMatchObject({ canary: 'new', weight: 80, failed: first.state.failed, since: time(90) })
    expect(second.state.shortfall).toMatchObject({ since: time(95), ready: 2 })
    expect(second.pods).toEqual({ old: 2, new: 8 })
    expect(second.event).toBeUndefined()
    const over = plan({ state: second.state, revisions: [seen('old', 10), seen('new', 1)], counts: slow, now: at(99) })
    expect(over.state).toEqual({ stable: 'old', weight: 0, step: -1, since: time(99), failed: first.state.failed })
    expect(over.pods).toEqual({ old: 10, new: 0 })
  })

  it('waits for room without a limit, reports it, and removes pods if maxUnavailable allows', () => {
    const revisions = [seen('old', 1, { replicas: 2, pods: 2, ready: 1, up: 1, ...noRoom }), seen('new', 9)]
    const waits = plan({ state: returning, revisions, now: at(50_000) })
    expect(waits.state).toMatchObject({ canary: 'new', waiting: { for: 'Room', since: time(50_000) } })
    expect(waits.pods).toEqual({ old: 2, new: 9 })
    const lenient = { ...rollout, maxUnavailable: 1 }
    expect(plan({ state: returning, revisions, rollout: lenient }).pods).toEqual({ old: 2, new: 8 })
  })

  it.each([
    ['the failed revision', {}, noRoom],
    ['the stable revision', noRoom, {}],
  ])('keeps only ready pods if %s lacks room, and ends without them', (_what, ofOld, ofNew) => {
    const stable = seen('old', 4, { replicas: 7, pods: 7, ...ofOld })
    const partly = [stable, seen('new', 2, { replicas: 4, pods: 4, up: 3, ...ofNew })]
    expect(plan({ state: returning, revisions: partly }).pods).toEqual({ old: 7, new: 3 })
    const none = [stable, seen('new', 0, { replicas: 2, pods: 2, ...ofNew })]
    const over = plan({ state: returning, revisions: none })
    expect(over.state).toMatchObject({ stable: 'old', weight: 0, failed })
    expect(over.state.canary).toBeUndefined()
    expect(over.pods.new).toBe(0)
  })

  it.each(['PodCrashing', 'ModelLoadFailed'] as const)(
    'keeps no pod of a canary that failed by itself: %s',
    (reason) => {
      const broken = { problem: { reason, message: 'x' } } as const
      const none = [seen('old', 1), seen('new', 0, { replicas: 9, pods: 9, ...broken })]
      const over = plan({ state: returning, revisions: none })
      expect(over.state.canary).toBeUndefined()
      // Its pods occupy slots until they are gone.
      expect(over.pods).toEqual({ old: 2, new: 0 })
      expect(plan({ state: over.state, revisions: [seen('old', 2), seen('new', 0)] }).pods).toEqual({ old: 10, new: 0 })
    },
  )

  it('keeps the canary while briefly none of its pods is ready', () => {
    const none = [seen('old', 0), seen('new', 0, { replicas: 9, pods: 9 })]
    const { state, pods } = plan({ target: 'old', state: trying(2, 90), revisions: none, now: at(5) })
    expect(state).toMatchObject({ canary: 'new', weight: 100, since: time(5) })
    expect(pods).toEqual({ old: 2, new: 9 })
  })

  it('keeps pods that only this process does not reach, and their share', () => {
    const unreached = [seen('old', 1), seen('new', 0, { replicas: 8, pods: 8, up: 8 })]
    expect(plan({ state: returning, revisions: unreached })).toMatchObject({ state: { weight: 89 }, pods: { new: 8 } })
  })

  it('never adds canary pods, and follows the desired number of pods', () => {
    const revisions = [seen('old', 1), seen('new', 8)]
    expect(plan({ state: returning, desired: 20, revisions }).pods).toEqual({ old: 13, new: 8 })
    expect(plan({ state: returning, desired: 5, revisions }).pods).toEqual({ old: 1, new: 4 })
    expect(plan({ state: returning, desired: 0, revisions }).pods).toEqual({ old: 0, new: 0 })
  })

  it('takes all requests at once from a canary that fails more than a tenth', () => {
    const bad = new Map([['new', did(800, { failed: 100 })]])
    const { state, pods } = plan({ state: trying(2, 90), revisions: late, counts: bad })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 2, new: 0 })
  })

  it('ignores a single failure among its first requests', () => {
    const one = new Map([['new', did(8, { failed: 1 })]])
    expect(plan({ state: returning, revisions: late, counts: one }).pods).toEqual({ old: 2, new: 9 })
    const many = new Map([['new', did(8, { failed: 6 })]])
    expect(plan({ state: returning, revisions: late, counts: many }).state.canary).toBeUndefined()
  })

  it('leaves its share to a canary that fails no more than the stable revision', () => {
    const both = new Map([
      ['new', did(85, { timedOut: 15, serviceSeconds: 2 })],
      ['old', did(85, { timedOut: 15 })],
    ])
    expect(plan({ state: trying(2, 90), revisions: late, counts: both }).state.canary).toBe('new')
  })

  it('keeps no pod of a canary that never had requests', () => {
    const revisions = [seen('old', 1, { replicas: 10, pods: 10 }), seen('new', 1)]
    expect(plan({ target: 'old', state: trying(-1, 0), revisions }).pods).toEqual({ old: 10, new: 0 })
  })

  it('begins when the canary is withdrawn, regardless of the step’s age', () => {
    const before = { shortfall: { since: time(0), ready: 8 }, weightReached: true }
    const { state } = plan({ target: 'old', state: trying(2, 90, before), revisions: late, now: at(99) })
    const begun = { revision: 'old', since: time(99), ready: 1 }
    const expected = { stable: 'old', canary: 'new', step: 2, weight: 90, since: time(99), shortfall: begun }
    expect(state).toEqual(expected)
    expect(plan({ target: 'old', state, revisions: late, now: at(120) }).state).toEqual(expected)
  })

  it('is the same for a withdrawn canary, and is reported at its end', () => {
    const first = plan({ target: 'old', state: trying(2, 90), revisions: late })
    expect(first.state).toMatchObject({ stable: 'old', canary: 'new', weight: 90 })
    expect(first.event).toBeUndefined()
    const last = plan({ target: 'old', state: first.state, revisions: [seen('old', 10), seen('new', 1)], now: at(9) })
    expect(last.state).toEqual({ stable: 'old', weight: 0, step: -1, since: time(9) })
    expect(last.event?.reason).toBe('RolloutWithdrawn')
  })

  it('continues when the failed spec is reverted and applied again meanwhile', () => {
    const withdrawn = plan({ target: 'old', state: returning, revisions: late, now: at(2) })
    const again = plan({ state: withdrawn.state, revisions: [seen('old', 1), seen('new', 8)], now: at(4) })
    expect(again.state).toMatchObject({ canary: 'new', failed: { reason: 'CanaryLatency' } })
  })

  it('ends when the spec asks for a withdrawn canary again; its step restarts', () => {
    const state = trying(1, 50, { shortfall })
    const counts = new Map([['new', did(500)]])
    const again = plan({ state, revisions: [seen('old', 6), seen('new', 5)], counts, now: at(80) })
    expect(again.state).toMatchObject({ step: 1, since: time(80) })
    expect(again.state.shortfall).toBeUndefined()
  })

  it('continues from the status of an older version', () => {
    const older = { ...trying(2, 90, { failed }), capacity: 10, kept: 9 }
    expect(plan({ state: older, revisions: late }).pods).toEqual({ old: 2, new: 9 })
  })

  describe('when a third revision is asked for', () => {
    const stuck = { revision: 'old', since: time(0), ready: 5 }
    const third = { target: 'newest', state: trying(1, 60, { shortfall: stuck }) } as const
    const gone = { problem: { reason: 'ImagePullFailed', message: 'x' } } as const

    it('ends first', () => {
      const revisions = [seen('old', 4, { replicas: 6, pods: 6, ...gone }), seen('new', 5)]
      const { state, pods } = plan({ ...third, revisions, now: at(599) })
      expect(state).toMatchObject({ stable: 'old', canary: 'new' })
      expect(pods).toEqual({ old: 6, new: 5 })
      const over = plan({ ...third, revisions: [seen('old', 10), seen('new', 1)], now: at(9) })
      expect(over.state).toMatchObject({ stable: 'old', canary: 'newest', step: -1 })
    })

    it.each([
      [4, 5, 'new'],
      [5, 4, 'old'],
      [5, 5, 'old'],
    ])(
      'ends after readySeconds without another ready pod: of %d and %d pods, %s keeps serving',
      (old, fresh, serves) => {
        const revisions = [seen('old', old, gone), seen('new', fresh)]
        const { state, event } = plan({ ...third, revisions, now: at(600) })
        expect(state).toEqual({ stable: serves, canary: 'newest', weight: 0, step: -1, since: time(600) })
        expect(event?.message).toContain(`replacing ${serves === 'old' ? 'new' : 'old'}`)
      },
    )
  })
})
