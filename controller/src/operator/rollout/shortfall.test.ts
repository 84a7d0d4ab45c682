import { describe, expect, it } from 'vitest'
import { at, did, plan, seen, time, trying } from './rollout.fixtures.ts'

const crashing = { reason: 'PodCrashing', message: 'Pod a has ended 3 times.' } as const
const broken = { reason: 'ModelLoadFailed', message: 'Triton in pod a cannot load model u2netp: bad file.' } as const

describe('a failing revision', () => {
  it('keeps its one pod until its deadline, while the old one serves', () => {
    const revisions = [seen('old', 10), seen('new', 0, { problem: broken, replicas: 1, pods: 1 })]
    const { state, pods, why } = plan({ state: trying(-1, 0), revisions, now: at(600) })
    expect(state).toMatchObject({ canary: 'new', weight: 0 })
    expect(pods).toEqual({ old: 10, new: 1 })
    expect(why).toBe(broken.message)
  })

  it.each([
    [broken, 'CanaryLoadFailed'],
    [{ ...broken, reason: 'ChecksumMismatch' } as const, 'CanaryLoadFailed'],
    [crashing, 'CanaryNotReady'],
    [undefined, 'CanaryNotReady'],
  ])('is rolled back if it is not ready in time: %j', (problem, reason) => {
    const revisions = [seen('old', 10), seen('new', 0, { replicas: 1, pods: 1, ...(problem && { problem }) })]
    const { state, pods, event } = plan({ state: trying(-1, 0), revisions, now: at(601) })
    expect(state).toMatchObject({ stable: 'old', weight: 0, failed: { revision: 'new', reason, time: time(601) } })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 10, new: 0 })
    expect(event).toMatchObject({ type: 'Warning', reason: 'RolloutRolledBack' })
  })

  describe('without room for its first pod', () => {
    const noRoom = { reason: 'PodUnschedulable', message: 'No node has room.' } as const
    const cramped = [seen('old', 10), seen('new', 0, { replicas: 1, pods: 1, noRoom })]

    it('waits without failing', () => {
      const { state, pods, why } = plan({ state: trying(-1, 0), revisions: cramped, now: at(50_000) })
      expect(state).toMatchObject({ canary: 'new', step: -1, waiting: { for: 'Room', since: time(50_000) } })
      expect(pods).toEqual({ old: 10, new: 1 })
      expect(why).toBe(noRoom.message)
    })

    it('has readySeconds from the time when it has room', () => {
      const waits = trying(-1, 0, { waiting: { for: 'Room', since: time(1) } })
      const placed = [seen('old', 10), seen('new', 0, { replicas: 1, pods: 1 })]
      const starts = plan({ state: waits, revisions: placed, now: at(50_000) }).state
      expect(starts).toMatchObject({ canary: 'new', since: time(50_000) })
      expect(starts.waiting).toBeUndefined()
      expect(plan({ state: starts, revisions: placed, now: at(50_600) }).state.failed).toBeUndefined()
      expect(plan({ state: starts, revisions: placed, now: at(50_601) }).state.failed).toBeDefined()
    })

    it('is rolled back at its deadline if another of its pods fails by itself', () => {
      const both = [seen('old', 10), seen('new', 0, { replicas: 1, pods: 1, noRoom, problem: crashing })]
      expect(plan({ state: trying(-1, 0), revisions: both, now: at(601) }).state.failed).toBeDefined()
    })
  })

  it('is not retried while the spec asks for it', () => {
    const failed = { revision: 'new', reason: 'CanaryErrorRate', message: 'x', time: time(0) } as const
    const state = { stable: 'old', weight: 0, step: -1, since: time(0), failed }
    const next = plan({ state, revisions: [seen('old', 10), seen('new', 0)], now: at(9_999) })
    expect(next.state).toEqual(state)
    expect(next.pods).toEqual({ old: 10, new: 0 })
    expect(next.leftover).toEqual(['new'])
  })

  it('is forgotten when the spec asks for another', () => {
    const failed = { revision: 'new', reason: 'CanaryErrorRate', message: 'x', time: time(0) } as const
    const state = { stable: 'old', weight: 0, step: -1, since: time(0), failed }
    expect(plan({ target: 'newest', state, revisions: [seen('old', 10)] }).state).toEqual({
      stable: 'old',
      canary: 'newest',
      weight: 0,
      step: -1,
      since: time(0),
    })
  })

  it('is rolled back at once when its requests fail', () => {
    const revisions = [seen('old', 9), seen('new', 1)]
    const counts = new Map([['new', did(0, { failed: 2 })]])
    const { state } = plan({ state: trying(0, 10), revisions, counts, now: at(2) })
    expect(state.failed).toMatchObject({ revision: 'new', reason: 'CanaryErrorRate' })
  })

  it('is rolled back when it crashes after it was ready', () => {
    const revisions = [seen('old', 9), seen('new', 0, { problem: crashing, pods: 1 })]
    expect(plan({ state: trying(0, 10), revisions }).state.failed).toMatchObject({ reason: 'CanaryNotReady' })
  })

  it('does not start over if briefly none of its pods is ready', () => {
    const blink = [seen('old', 1), seen('new', 0, { replicas: 9, pods: 9 })]
    const first = plan({ state: trying(2, 90), revisions: blink, now: at(100) })
    expect(first.state).toMatchObject({ step: 2, weight: 90, shortfall: { since: time(100), ready: 0 } })
    expect(first.pods.new).toBe(10)
    expect(plan({ state: first.state, revisions: blink, now: at(109) }).state).toMatchObject({ step: 2 })
    expect(plan({ state: first.state, revisions: blink, now: at(110) }).state).toMatchObject({ step: -1, setbacks: 1 })
    const before = trying(2, 90, { shortfall: { since: time(0), ready: 3 } })
    expect(plan({ state: before, revisions: blink, now: at(100) }).state).toMatchObject({ step: 2 })
  })

  it('is still checked by its rates when its pods stop answering', () => {
    const revisions = [seen('old', 9), seen('new', 0, { pods: 1 })]
    const state = trying(0, 10, { shortfall: { since: time(-10), ready: 0 } })
    const few = plan({ state, revisions, counts: new Map([['new', did(60, { timedOut: 1 })]]) })
    expect(few.state).toMatchObject({ canary: 'new', step: -1, setbacks: 1 })
    const many = plan({ state, revisions, counts: new Map([['new', did(60, { timedOut: 2 })]]) })
    expect(many.state.failed).toMatchObject({ reason: 'CanaryErrorRate' })
  })

  it('is not blamed for errors that the old one has as often', () => {
    const revisions = [seen('old', 9), seen('new', 0, { pods: 1 })]
    const counts = new Map([
      ['new', did(8, { timedOut: 2 })],
      ['old', did(8, { timedOut: 2 })],
    ])
    expect(plan({ state: trying(0, 10), revisions, counts }).state.failed).toBeUndefined()
  })

  it('is rolled back when one of its pods keeps crashing', () => {
    const revisions = [seen('old', 5), seen('new', 4, { pods: 5, problem: crashing })]
    expect(plan({ state: trying(1, 40), revisions }).state.failed).toMatchObject({ reason: 'CanaryNotReady' })
  })

  describe('in a later step', () => {
    const shortfall = { since: time(0), ready: 3 }
    const state = trying(1, 30, { shortfall })
    const revisions = [seen('old', 7), seen('new', 3, { replicas: 5, pods: 5 })]
    const refused = { problem: { reason: 'ImagePullFailed', message: 'No such image.' } } as const
    const full = { noRoom: { reason: 'QuotaRefused', message: 'Quota is used up.' } } as const

    it('waits readySeconds for its pods, and reports it', () => {
      const { state: next, why } = plan({ state, revisions, now: at(600) })
      expect(next).toMatchObject({ canary: 'new', weight: 30, shortfall })
      expect(why).toContain('2 more ready pods')
    })

    it('is rolled back when they are not ready in time, with the cause', () => {
      expect(plan({ state, revisions, now: at(601) }).state.failed).toMatchObject({ reason: 'CanaryNotReady' })
      const known = [seen('old', 7), seen('new', 3, { replicas: 5, pods: 5, ...refused })]
      const { failed, shortfall: left } = plan({ state, revisions: known, now: at(601) }).state
      expect(failed?.message).toBe('2 of its pods were not ready within 600 s: No such image')
      expect(left?.revision).toBe('old')
    })

    it('restarts that time with each new ready pod', () => {
      const four = [seen('old', 6), seen('new', 4, { replicas: 5, pods: 5 })]
      const { state: next } = plan({ state, revisions: four, now: at(590) })
      expect(next.shortfall).toEqual({ revision: 'new', since: time(590), ready: 4 })
      expect(plan({ state: next, revisions: four, now: at(1_190) }).state.failed).toBeUndefined()
    })

    it('waits for room without a limit, and then has readySeconds again', () => {
      const cramped = [seen('old', 7), seen('new', 3, { replicas: 4, pods: 4, ...full })]
      const waits = plan({ state, revisions: cramped, now: at(50_000) }).state
      expect(waits).toMatchObject({ canary: 'new', weight: 30, waiting: { for: 'Room', since: time(50_000) } })
      const placed = [seen('old', 7), seen('new', 3, { replicas: 4, pods: 4 })]
      const starts = plan({ state: waits, revisions: placed, now: at(60_000) }).state
      expect(starts).toMatchObject({ canary: 'new', shortfall: { since: time(60_000), ready: 3 } })
      expect(plan({ state: starts, revisions: placed, now: at(60_601) }).state.failed).toBeDefined()
    })

    it('does not count a pod as late before it may exist', () => {
      const draining = [seen('old', 6, { pods: 8 }), seen('new', 3)]
      expect(plan({ state, revisions: draining, now: at(50_000) }).state.failed).toBeUndefined()
    })

    it('tolerates a brief problem late in a step', () => {
      const long = trying(2, 90)
      const trouble = [seen('old', 1), seen('new', 9, { replicas: 10, pods: 10, ...refused })]
      const { state: next } = plan({ state: long, revisions: trouble, now: at(5_000) })
      expect(next).toMatchObject({ canary: 'new', shortfall: { since: time(5_000), ready: 9 } })
      const over = plan({ state: next, revisions: [seen('old', 1), seen('new', 10)], now: at(5_005) })
      expect(over.state).toMatchObject({ stable: 'new' })
    })

    it('keeps its share and its pods while only this process does not reach them', () => {
      const unreached = [seen('old', 1), seen('new', 0, { replicas: 10, pods: 9, up: 9 })]
      const { state: next, pods } = plan({ state: trying(2, 90), revisions: unreached, now: at(5) })
      expect(next).toMatchObject({ step: 2, weight: 90, shortfall: { since: time(5), ready: 0 } })
      expect(next.setbacks).toBeUndefined()
      expect(pods.new).toBe(10)
      expect(plan({ state: next, revisions: unreached, now: at(606) }).state.failed).toBeDefined()
    })
  })

  it('does not take over while Kubernetes reports pods of the old one ready', () => {
    const revisions = [seen('old', 0, { problem: broken, pods: 11, up: 10 }), seen('new', 1)]
    expect(plan({ state: trying(-1, 0), revisions }).state).toMatchObject({ stable: 'old', canary: 'new', step: 0 })
  })

  it('takes all requests and passes its gate while the only stable pod lacks room', () => {
    const noRoom = { reason: 'PodUnschedulable', message: 'No node has room.' } as const
    const revisions = [seen('old', 0, { replicas: 1, pods: 1, noRoom }), seen('new', 1)]
    const one = { desired: 1, revisions }
    const first = plan({ ...one, state: trying(-1, 0) }).state
    expect(first).toMatchObject({ stable: 'old', canary: 'new', step: 0, weight: 100 })
    const bad = new Map([['new', did(50, { failed: 50 })]])
    expect(plan({ ...one, state: first, counts: bad, now: at(60) }).state.failed?.reason).toBe('CanaryErrorRate')
    const good = new Map([['new', did(100)]])
    const second = plan({ ...one, state: first, counts: good, now: at(60) }).state
    expect(second).toMatchObject({ step: 1, weight: 100 })
    const third = plan({ ...one, state: second, counts: good, now: at(120) }).state
    expect(third).toMatchObject({ step: 2, weight: 100 })
    expect(plan({ ...one, state: third, counts: good, now: at(121) }).state).toMatchObject({ stable: 'new' })
  })

  it('is replaced without steps if it is the only one and never served', () => {
    const revisions = [seen('old', 0, { problem: broken, pods: 10 }), seen('new', 1)]
    const { state, pods } = plan({ state: trying(-1, 0), revisions })
    expect(state).toMatchObject({ stable: 'new' })
    expect(pods).toEqual({ old: 0, new: 1 })
    const gone = [seen('new', 1), seen('old', 0)]
    expect(plan({ state, revisions: gone }).pods).toEqual({ old: 0, new: 10 })
  })

  it('starts over when it loses all its pods without its own fault', () => {
    const { state, pods } = plan({ state: trying(1, 50), revisions: [seen('old', 5), seen('new', 0)], now: at(30) })
    expect(state).toMatchObject({ canary: 'new', step: -1, weight: 0, since: time(30) })
    expect(pods).toEqual({ old: 10, new: 1 })
  })

  it('is rolled back when it loses all its pods repeatedly', () => {
    const revisions = [seen('old', 5), seen('new', 0)]
    const third = plan({ state: trying(0, 10, { setbacks: 2 }), revisions, now: at(30) })
    expect(third.state).toMatchObject({ canary: 'new', step: -1, setbacks: 3 })
    const fourth = plan({ state: trying(0, 10, { setbacks: 3 }), revisions, now: at(30) })
    expect(fourth.state.failed).toMatchObject({ reason: 'CanaryNotReady', message: 'it lost its ready pods 4 times' })
    // It serves nothing, so the stable revision does not wait for its pods to go.
    const many = [seen('old', 1), seen('new', 0, { replicas: 9, pods: 9 })]
    const shortfall = { since: time(0), ready: 0 }
    const late = plan({ state: trying(1, 90, { setbacks: 3, shortfall }), revisions: many, now: at(30) })
    expect(late.state.canary).toBeUndefined()
    expect(late.pods).toEqual({ old: 2, new: 0 })
  })

  it('keeps the count of its setbacks across steps', () => {
    const revisions = [seen('old', 10), seen('new', 1)]
    const entered = plan({ state: trying(-1, 0, { setbacks: 2 }), revisions }).state
    expect(entered).toMatchObject({ step: 0, setbacks: 2 })
    const counts = new Map([['new', did(50)]])
    expect(plan({ state: entered, revisions, counts, now: at(60) }).state).toMatchObject({ step: 1, setbacks: 2 })
  })
})
