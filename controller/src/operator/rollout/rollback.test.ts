import { describe, expect, it } from 'vitest'
import { at, did, plan, seen, time, trying } from './rollout.fixtures.ts'
import type { RevisionObservation } from './rollout-input.ts'

const slow = new Map([
  ['new', did(500, { serviceSeconds: 2 })],
  ['old', did(50)],
])
const late = [seen('old', 1), seen('new', 9)]
const full = { problem: { reason: 'PodUnschedulable', message: 'No node has room.' } } as const
const failed = { revision: 'new', reason: 'CanaryLatency', message: 'x', time: time(0) } as const
const returning = trying(2, 90, { failed, capacity: 10, kept: 9 })

describe('a rollback', () => {
  it('leaves the canary the requests that the stable revision has no pods for, less a tenth', () => {
    const { state, pods, event } = plan({ state: trying(2, 90), revisions: late, counts: slow, now: at(90) })
    expect(state).toMatchObject({ stable: 'old', canary: 'new', weight: 89, failed: { reason: 'CanaryLatency' } })
    expect(state).toMatchObject({ capacity: 10, since: time(90) })
    expect(pods).toEqual({ old: 1, new: 8 })
    expect(event?.reason).toBe('RolloutRolledBack')
    const half = plan({ state, revisions: [seen('old', 6), seen('new', 8)], counts: slow, now: at(95) })
    expect(half.state).toMatchObject({ canary: 'new', weight: 34, failed: state.failed, since: time(95) })
    expect(half.pods).toEqual({ old: 6, new: 3 })
    expect(half.event).toBeUndefined()
    const over = plan({ state: half.state, revisions: [seen('old', 9), seen('new', 3)], counts: slow, now: at(99) })
    expect(over.state).toEqual({ stable: 'old', weight: 0, step: -1, since: time(99), failed: state.failed })
    expect(over.pods).toEqual({ old: 10, new: 0 })
  })

  it.each([
    [10, 1],
    [19, 1],
    [30, 3],
    [300, 30],
    [3, 1],
  ])('of %d pods gives up %d at a time', (desired, tenth) => {
    const revisions = [seen('old', 1), seen('new', desired - 1)]
    const { pods } = plan({ target: 'old', state: trying(2, 90), desired, revisions })
    expect(pods).toEqual({ old: 1, new: desired - 1 - tenth })
  })

  it('asks for as many stable pods as canary pods have gone, and for those that have a node', () => {
    const asked = (revisions: RevisionObservation[]) => plan({ state: returning, revisions }).pods
    expect(asked([seen('old', 1), seen('new', 8, { pods: 9 })])).toEqual({ old: 1, new: 8 })
    expect(asked([seen('old', 1), seen('new', 8)])).toEqual({ old: 2, new: 8 })
    expect(asked([seen('old', 1, { coming: 1 }), seen('new', 8)])).toEqual({ old: 2, new: 8 })
    expect(asked([seen('old', 3, { coming: 1 }), seen('new', 6, { pods: 8 })])).toEqual({ old: 4, new: 6 })
  })

  it('gives the canary no more pods again when stable ones go, and the share of those that are ready', () => {
    const { state, pods } = plan({ state: returning, revisions: [seen('old', 2), seen('new', 4)], now: at(5) })
    expect(state).toMatchObject({ weight: 67, since: time(0) })
    expect(pods).toEqual({ old: 6, new: 4 })
  })

  it.each(['PodCrashing', 'ModelLoadFailed'] as const)(
    'waits for no pod of the canary that fails by itself: %s',
    (reason) => {
      const broken = { problem: { reason, message: 'x' } } as const
      const half = [seen('old', 1), seen('new', 4, { replicas: 9, pods: 9, coming: 5, ...broken })]
      expect(plan({ state: returning, revisions: half }).pods).toEqual({ old: 1, new: 4 })
      const none = [seen('old', 1), seen('new', 0, { replicas: 9, pods: 9, coming: 9, ...broken })]
      const over = plan({ state: returning, revisions: none })
      expect(over.state.canary).toBeUndefined()
      expect(over.pods).toEqual({ old: 10, new: 0 })
    },
  )

  it('keeps its time while Kubernetes refuses to give pods up', () => {
    const first = plan({ target: 'third', state: returning, revisions: late, now: at(5) })
    expect(first.state).toMatchObject({ kept: 8, since: time(5) })
    const refused = plan({ target: 'third', state: first.state, revisions: late, now: at(10) })
    expect(refused.state).toEqual(first.state)
    const third = plan({ target: 'third', state: first.state, revisions: late, now: at(10_000) })
    expect(third.state).toMatchObject({ canary: 'third' })
  })

  it('follows the number of pods wanted', () => {
    const revisions = [seen('old', 1), seen('new', 8)]
    expect(plan({ state: returning, desired: 5, revisions }).pods).toEqual({ old: 1, new: 3 })
    expect(plan({ state: returning, desired: 20, revisions }).pods).toEqual({ old: 12, new: 8 })
    expect(plan({ state: returning, desired: 0, revisions }).pods).toEqual({ old: 0, new: 0 })
  })

  it('goes on in a pool that wants more than it has room for', () => {
    const revisions = [seen('old', 1, { ...full }), seen('new', 6, { replicas: 12, pods: 12 })]
    const first = plan({ target: 'old', state: trying(1, 50), desired: 12, revisions })
    expect(first.state).toMatchObject({ capacity: 7 })
    expect(first.pods).toEqual({ old: 1, new: 5 })
    const room = [seen('old', 2, { ...full }), seen('new', 5)]
    expect(plan({ target: 'old', state: first.state, desired: 12, revisions: room }).pods).toEqual({ old: 7, new: 4 })
  })

  it.each(['ImagePullFailed', 'PodUnschedulable'] as const)(
    'gives one tenth up, and no second, for stable pods that do not come: %s',
    (reason) => {
      const revisions = [seen('old', 1, { problem: { reason, message: 'x' } }), seen('new', 8)]
      const { state, pods } = plan({ state: returning, revisions, now: at(50_000) })
      expect(state).toMatchObject({ canary: 'new', since: time(0) })
      expect(pods).toEqual({ old: 2, new: 8 })
    },
  )

  it('gives up no more when none is ready for a moment', () => {
    const none = [seen('old', 0, { coming: 1 }), seen('new', 0, { replicas: 9, pods: 9, coming: 9 })]
    const { state, pods } = plan({ target: 'old', state: trying(2, 90), revisions: none, now: at(5) })
    expect(state).toMatchObject({ canary: 'new', weight: 100, capacity: 10, since: time(5) })
    expect(pods).toEqual({ old: 1, new: 9 })
  })

  it('keeps what this process alone does not reach, and its share', () => {
    const unreached = [seen('old', 1), seen('new', 0, { replicas: 8, pods: 8, up: 8 })]
    expect(plan({ state: returning, revisions: unreached })).toMatchObject({ state: { weight: 89 }, pods: { new: 8 } })
    const partly = [seen('old', 1), seen('new', 2, { replicas: 8, pods: 8, up: 8 })]
    expect(plan({ state: returning, revisions: partly })).toMatchObject({ state: { weight: 67 }, pods: { new: 8 } })
  })

  describe('of the last pod', () => {
    const one = { state: trying(0, 90, { failed, capacity: 1 }), desired: 1 }

    it('waits until a stable one is ready', () => {
      const coming = [seen('old', 0, { coming: 1 }), seen('new', 1)]
      expect(plan({ ...one, revisions: coming, now: at(5_000) }).pods).toEqual({ old: 1, new: 1 })
      const ready = plan({ ...one, revisions: [seen('old', 1), seen('new', 1)] })
      expect(ready.state.canary).toBeUndefined()
      expect(ready.pods).toEqual({ old: 1, new: 0 })
    })

    it('waits for readySeconds when there is no room beside it', () => {
      const revisions = [seen('old', 0, full), seen('new', 1)]
      expect(plan({ ...one, revisions, now: at(599) }).pods).toEqual({ old: 1, new: 1 })
      expect(plan({ ...one, revisions, now: at(600) }).pods).toEqual({ old: 1, new: 0 })
    })
  })

  it('takes all requests at once from one that spoils more than one of ten', () => {
    const bad = new Map([['new', did(800, { failed: 100 })]])
    const { state, pods } = plan({ state: trying(2, 90), revisions: late, counts: bad })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 10, new: 0 })
  })

  it('does not take one failure in the first requests of the rollback for a rate', () => {
    const one = new Map([['new', did(8, { failed: 1 })]])
    expect(plan({ state: returning, revisions: late, counts: one }).pods).toEqual({ old: 1, new: 8 })
    const many = new Map([['new', did(8, { failed: 6 })]])
    expect(plan({ state: returning, revisions: late, counts: many }).pods).toEqual({ old: 10, new: 0 })
  })

  it('leaves its share to one that spoils no more than the stable one', () => {
    const both = new Map([
      ['new', did(85, { timedOut: 15, serviceSeconds: 2 })],
      ['old', did(85, { timedOut: 15 })],
    ])
    expect(plan({ state: trying(2, 90), revisions: late, counts: both }).pods).toEqual({ old: 1, new: 8 })
  })

  it('keeps nothing of one that has never had requests', () => {
    const revisions = [seen('old', 1, { coming: 9 }), seen('new', 1)]
    expect(plan({ target: 'old', state: trying(-1, 0), revisions }).pods).toEqual({ old: 10, new: 0 })
  })

  it('begins its time when it is withdrawn, however long the step has lasted', () => {
    const shortfall = { since: time(0), ready: 8 }
    const { state } = plan({
      target: 'old',
      state: trying(2, 90, { shortfall, weightReached: true }),
      revisions: late,
      now: at(99),
    })
    expect(state).toEqual({ stable: 'old', canary: 'new', step: 2, weight: 89, since: time(99), capacity: 10, kept: 8 })
  })

  it('is the same for one that the spec no longer asks for, and is reported at its end', () => {
    const first = plan({ target: 'old', state: trying(2, 90), revisions: late })
    expect(first.state).toMatchObject({ stable: 'old', canary: 'new', weight: 89 })
    expect(first.event).toBeUndefined()
    const last = plan({ target: 'old', state: first.state, revisions: [seen('old', 9), seen('new', 1)], now: at(9) })
    expect(last.state).toEqual({ stable: 'old', weight: 0, step: -1, since: time(9) })
    expect(last.event?.reason).toBe('RolloutWithdrawn')
  })

  it('goes on when what failed is withdrawn and asked for again before it has gone', () => {
    const withdrawn = plan({ target: 'old', state: returning, revisions: late, now: at(2) })
    const again = plan({ state: withdrawn.state, revisions: [seen('old', 1), seen('new', 8)], now: at(4) })
    expect(again.state).toMatchObject({ canary: 'new', failed: { reason: 'CanaryLatency' }, capacity: 10 })
  })

  it('ends when the spec asks for what was withdrawn once more: its step begins again', () => {
    const state = trying(1, 50, { capacity: 10 })
    const counts = new Map([['new', did(500)]])
    const again = plan({ state, revisions: [seen('old', 6), seen('new', 5)], counts, now: at(80) })
    expect(again.state).toMatchObject({ step: 1, since: time(80) })
    expect(again.state.capacity).toBeUndefined()
  })

  describe('when a third revision is asked for', () => {
    const third = { target: 'newest', state: trying(1, 60, { capacity: 10, kept: 6 }) } as const
    const gone = { problem: { reason: 'ImagePullFailed', message: 'x' }, coming: 1 } as const

    it('ends first', () => {
      const revisions = [seen('old', 4, gone), seen('new', 5)]
      const { state, pods } = plan({ ...third, revisions, now: at(599) })
      expect(state).toMatchObject({ stable: 'old', canary: 'new' })
      expect(pods).toEqual({ old: 5, new: 5 })
      const over = plan({ ...third, revisions: [seen('old', 9), seen('new', 1)], now: at(9) })
      expect(over.state).toMatchObject({ stable: 'old', canary: 'newest', step: -1 })
      expect(over.pods).toEqual({ old: 10, new: 0, newest: 1 })
    })

    it.each([
      [4, 5, 'new'],
      [5, 4, 'old'],
      [5, 5, 'old'],
    ])('is given up after readySeconds without progress: of %d and %d pods, %s serves on', (old, fresh, serves) => {
      const revisions = [seen('old', old, gone), seen('new', fresh, { replicas: 9 - old })]
      const { state, pods, event } = plan({ ...third, revisions, now: at(600) })
      expect(state).toEqual({ stable: serves, canary: 'newest', weight: 0, step: -1, since: time(600) })
      expect(pods).toEqual({ old: 0, new: 0, [serves]: 10, newest: 1 })
      expect(event?.message).toContain(`in place of ${serves === 'old' ? 'new' : 'old'}, which is given up`)
    })
  })
})
