import { describe, expect, it } from 'vitest'
import { at, plan, rollout, seen, time, trying } from './rollout.fixtures.ts'

describe('a pool without a former revision', () => {
  it('starts all pods of the first one, without a canary', () => {
    const { state, pods, event } = plan({})
    expect(state).toEqual({ stable: 'new', weight: 0, step: -1, since: time(0) })
    expect(pods).toEqual({ new: 10 })
    expect(event).toBeUndefined()
  })

  it('assumes after a lost status that the revision with ready pods is stable', () => {
    const { state } = plan({ revisions: [seen('other', 0), seen('old', 3)] })
    expect(state).toMatchObject({ stable: 'old', canary: 'new' })
  })

  it('starts no canary of a serving revision after a lost status', () => {
    expect(plan({ revisions: [seen('old', 1), seen('new', 3)] }).state).toMatchObject({ stable: 'new' })
    expect(plan({ revisions: [seen('old', 2), seen('new', 2)] }).state).toMatchObject({ stable: 'new' })
  })

  it('continues a canary after a lost status', () => {
    const { state, pods } = plan({ revisions: [seen('old', 9), seen('new', 1)] })
    expect(state).toMatchObject({ stable: 'old', canary: 'new', step: -1 })
    expect(pods).toEqual({ old: 10, new: 1 })
  })

  it('keeps its times while nothing changes', () => {
    const before = { stable: 'new', weight: 0, step: -1, since: time(0) }
    expect(plan({ state: before, now: at(90) }).state).toEqual(before)
  })
})

describe('a changed pool', () => {
  const settled = { stable: 'old', weight: 0, step: -1, since: time(-900) }

  it('starts one pod of the new revision without requests', () => {
    const { state, pods, event } = plan({ state: settled, revisions: [seen('old', 10)] })
    expect(state).toEqual({ stable: 'old', canary: 'new', weight: 0, step: -1, since: time(0) })
    expect(pods).toEqual({ old: 10, new: 1 })
    expect(event).toMatchObject({ type: 'Normal', reason: 'RolloutStarted' })
  })

  it('replaces the canary by the newest change', () => {
    const { state, pods } = plan({
      target: 'newest',
      state: trying(0, 10),
      revisions: [seen('old', 10), seen('new', 1)],
    })
    expect(state).toMatchObject({ stable: 'old', canary: 'newest', step: -1, weight: 0 })
    // The pod of the replaced canary occupies the slot of the newest one.
    expect(pods).toEqual({ old: 10, new: 0, newest: 0 })
    const gone = plan({ target: 'newest', state, revisions: [seen('old', 10), seen('new', 0)], now: at(30) })
    expect(gone.pods).toEqual({ old: 10, new: 0, newest: 1 })
    expect(gone.state).toMatchObject({ canary: 'newest', step: -1, since: time(0) })
  })

  it('moves the requests back before the newest change replaces a late canary', () => {
    const late = { target: 'newest', state: trying(2, 90) }
    const first = plan({ ...late, revisions: [seen('old', 1), seen('new', 9)] })
    expect(first.state).toMatchObject({ stable: 'old', canary: 'new', weight: 90 })
    expect(first.pods).toEqual({ old: 2, new: 9 })
    const last = plan({ target: 'newest', state: first.state, revisions: [seen('old', 10), seen('new', 1)] })
    expect(last.state).toMatchObject({ stable: 'old', canary: 'newest', step: -1 })
    expect(last.pods).toEqual({ old: 10, new: 0, newest: 0 })
  })

  it('withdraws the canary when the spec is reverted', () => {
    const { state, pods, event } = plan({
      target: 'old',
      state: trying(0, 10),
      revisions: [seen('old', 10), seen('new', 1)],
    })
    expect(state).toMatchObject({ stable: 'old', weight: 0 })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 10, new: 0 })
    expect(event?.reason).toBe('RolloutWithdrawn')
  })

  it('promotes the canary when the old revision’s Deployment is deleted', () => {
    const { state, pods } = plan({ state: trying(0, 10), revisions: [seen('new', 1)] })
    expect(state).toMatchObject({ stable: 'new' })
    expect(pods).toEqual({ new: 10 })
  })
})

describe('a pool at zero', () => {
  const settled = { stable: 'old', weight: 0, step: -1, since: time(-900) }
  const promoting = { rollout: { ...rollout, gate: { ...rollout.gate, idle: 'promote' } }, desired: 0 } as const

  it('starts no pod for a canary until the next requests, and reports why', () => {
    const begun = plan({ state: settled, desired: 0, revisions: [seen('old', 0)] })
    expect(begun.pods).toEqual({ old: 0, new: 0 })
    const asleep = plan({ state: begun.state, desired: 0, revisions: [seen('old', 0)], now: at(1) })
    expect(asleep.state).toMatchObject({ canary: 'new', step: -1, waiting: { for: 'Requests', since: time(1) } })
    const later = plan({ state: asleep.state, desired: 0, revisions: [seen('old', 0)], now: at(90_000) })
    expect(later.state).toEqual(asleep.state)
    const woken = plan({ state: later.state, desired: 2, revisions: [seen('old', 0)], now: at(90_001) })
    expect(woken.pods).toEqual({ old: 2, new: 1 })
    expect(woken.state).toMatchObject({ step: -1, since: time(90_001) })
  })

  it('removes the pods of a canary after the last request', () => {
    const revisions = [seen('old', 5), seen('new', 5)]
    const { state, pods } = plan({ state: trying(1, 50, { setbacks: 1 }), desired: 0, revisions, now: at(9) })
    expect(state).toMatchObject({ canary: 'new', step: -1, weight: 0, setbacks: 1, waiting: { for: 'Requests' } })
    expect(pods).toEqual({ old: 0, new: 0 })
  })

  it('starts only the new revision with strategy Recreate', () => {
    const recreate = { ...rollout, strategy: 'Recreate' } as const
    const asleep = plan({ rollout: recreate, state: settled, desired: 0, revisions: [seen('old', 0)] })
    expect(asleep.pods).toEqual({ old: 0, new: 0 })
    const woken = plan({ rollout: recreate, state: asleep.state, desired: 2, revisions: [seen('old', 0)] })
    expect(woken.pods).toEqual({ old: 0, new: 2 })
  })

  describe('with idle: promote', () => {
    it('starts one pod of the new revision, promotes it when ready, and removes it', () => {
      const begun = plan({ ...promoting, state: settled, revisions: [seen('old', 0)] })
      expect(begun.pods).toEqual({ old: 0, new: 1 })
      const { state, pods } = plan({ ...promoting, state: trying(-1, 0), revisions: [seen('old', 0), seen('new', 1)] })
      expect(state).toMatchObject({ stable: 'new' })
      expect(pods).toEqual({ old: 0, new: 0 })
    })

    it('does not promote a canary before its step has ended', () => {
      const input = { ...promoting, state: trying(0, 100), revisions: [seen('old', 0), seen('new', 1)] }
      expect(plan({ ...input, now: at(59) })).toMatchObject({ state: { canary: 'new', step: 0 }, pods: { new: 1 } })
      expect(plan({ ...input, now: at(60) }).state).toMatchObject({ stable: 'new' })
    })
  })
})

describe('a revision of other public names', () => {
  const answering = (names: Record<string, string[]>) => ({ namesOf: (revision: string) => names[revision] ?? [] })

  it('takes over without steps if it shares no name with the old one', () => {
    const names = answering({ old: ['v2'], new: ['v3'] })
    const ready = plan({ ...names, state: trying(-1, 0), revisions: [seen('old', 10), seen('new', 1)] })
    expect(ready.state).toMatchObject({ step: 2 })
    expect(ready.pods).toEqual({ old: 9, new: 1 })
    const all = plan({ ...names, state: ready.state, revisions: [seen('old', 10), seen('new', 10)], now: at(1) })
    expect(all.state).toEqual({ stable: 'new', weight: 0, step: -1, since: time(1) })
  })

  it('leaves the old one as many pods as allowed, for names that only it has', () => {
    const names = answering({ old: ['v2', 'service-v2'], new: ['v3', 'service-v2'] })
    const half = { ...names, state: trying(1, 50), revisions: [seen('old', 10), seen('new', 5)] }
    expect(plan(half).pods).toEqual({ old: 6, new: 5 })
    expect(plan({ ...half, rollout: { ...rollout, maxSurge: '100%' } }).pods).toEqual({ old: 10, new: 5 })
  })

  it('rolls out like any other if it only adds names', () => {
    const names = answering({ old: ['v2'], new: ['v2', 'v3'] })
    const { pods } = plan({ ...names, state: trying(2, 90), revisions: [seen('old', 1), seen('new', 9)] })
    expect(pods).toEqual({ old: 1, new: 10 })
  })
})

describe('unused Deployments', () => {
  it('are deleted after their last pod', () => {
    const state = { stable: 'new', weight: 0, step: -1, since: time(0) }
    const left = (pods: number, replicas: number) =>
      plan({ state, revisions: [seen('new', 1), seen('old', 0, { pods, replicas })] }).leftover
    expect(left(1, 0)).toEqual([])
    expect(left(0, 1)).toEqual([])
    expect(left(0, 0)).toEqual(['old'])
  })

  it('are not those of the stable revision and the canary, even without pods', () => {
    expect(plan({ state: trying(-1, 0), desired: 0, revisions: [seen('old', 0), seen('new', 0)] }).leftover).toEqual([])
  })
})

describe('the annotation matte.dev/retry', () => {
  const failed = { revision: 'new', reason: 'CanaryErrorRate', message: 'x', time: time(0) } as const
  const state = { stable: 'old', weight: 0, step: -1, since: time(0), failed }
  const revisions = [seen('old', 10)]

  it('retries a rolled-back revision once', () => {
    const again = plan({ state, revisions, retry: time(5), now: at(9) })
    expect(again.state).toEqual({ stable: 'old', canary: 'new', weight: 0, step: -1, since: time(9), retried: time(5) })
    expect(again.event?.message).toContain('tried again')
    const failedAgain = { ...state, failed: { ...failed, time: time(2) }, retried: time(5) }
    const second = plan({ state: failedAgain, revisions, retry: time(5), now: at(20) })
    expect(second.state).toMatchObject({ failed: { time: time(2) }, retried: time(5) })
    expect(second.state.canary).toBeUndefined()
  })

  it.each([
    ['that is not a time', 'now'],
    ['before the rollback', time(-1)],
    ['equal to the time of the rollback', time(0)],
  ])('has no effect with a value %s', (_what, retry) => {
    expect(plan({ state, revisions, retry }).state).toEqual(state)
  })

  it('resumes a revision with remaining pods', () => {
    const leaving = trying(1, 50, { failed, setbacks: 2, shortfall: { revision: 'old', since: time(1), ready: 5 } })
    const next = plan({ state: leaving, revisions: [seen('old', 5), seen('new', 5)], retry: time(5), now: at(9) })
    expect(next.state).toMatchObject({ canary: 'new', step: 1, since: time(9), retried: time(5) })
    expect([next.state.failed, next.state.setbacks, next.state.shortfall]).toEqual([undefined, undefined, undefined])
  })
})

describe('a pool without a ready pod during a rollout', () => {
  const recreate = { rollout: { ...rollout, strategy: 'Recreate' }, desired: 1 } as const

  it('reports since when, until a pod is ready', () => {
    const revisions = [seen('old', 0, { pods: 1 })]
    const gap = plan({ ...recreate, state: trying(-1, 0), revisions, now: at(7) })
    expect(gap.state.unservedSince).toBe(time(7))
    expect(plan({ ...recreate, state: gap.state, revisions, now: at(9) }).state.unservedSince).toBe(time(7))
    const served = plan({ ...recreate, state: gap.state, revisions: [seen('new', 1)], now: at(30) })
    expect(served.state.unservedSince).toBeUndefined()
  })

  it('still reports it after the rollback, until the old one has a pod', () => {
    const revisions = [seen('old', 0), seen('new', 0, { pods: 1, replicas: 1 })]
    const state = trying(-1, 0, { unservedSince: time(7) })
    const back = plan({ ...recreate, state, revisions, now: at(700) })
    expect(back.state).toMatchObject({ unservedSince: time(7), failed: { revision: 'new' } })
    expect(back.pods).toEqual({ old: 0, new: 0 })
  })
})
