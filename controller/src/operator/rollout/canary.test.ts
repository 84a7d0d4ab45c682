import { describe, expect, it } from 'vitest'
import { at, plan, seen, time, trying } from './rollout.fixtures.ts'

describe('a pool without a former revision', () => {
  it('has all its pods of the first one, and no canary', () => {
    const { state, pods, event } = plan({})
    expect(state).toEqual({ stable: 'new', weight: 0, step: -1, since: time(0) })
    expect(pods).toEqual({ new: 10 })
    expect(event).toBeUndefined()
  })

  it('takes the revision with ready pods for the one that serves when the status was lost', () => {
    const { state } = plan({ revisions: [seen('other', 0), seen('old', 3)] })
    expect(state).toMatchObject({ stable: 'old', canary: 'new' })
  })

  it('does not try what serves already when the status was lost', () => {
    expect(plan({ revisions: [seen('old', 1), seen('new', 3)] }).state).toMatchObject({ stable: 'new' })
    expect(plan({ revisions: [seen('old', 2), seen('new', 2)] }).state).toMatchObject({ stable: 'new' })
  })

  it('goes on trying what was being tried when the status was lost', () => {
    const { state, pods } = plan({ revisions: [seen('old', 9), seen('new', 1)] })
    expect(state).toMatchObject({ stable: 'old', canary: 'new', step: -1 })
    expect(pods).toEqual({ old: 10, new: 1 })
  })

  it('keeps its time while nothing changes', () => {
    const before = { stable: 'new', weight: 0, step: -1, since: time(0) }
    expect(plan({ state: before, now: at(90) }).state).toEqual(before)
  })
})

describe('a changed pool', () => {
  const settled = { stable: 'old', weight: 0, step: -1, since: time(-900) }

  it('starts one pod of the new revision and sends it nothing', () => {
    const { state, pods, event } = plan({ state: settled, revisions: [seen('old', 10)] })
    expect(state).toEqual({ stable: 'old', canary: 'new', weight: 0, step: -1, since: time(0) })
    expect(pods).toEqual({ old: 10, new: 1 })
    expect(event).toMatchObject({ type: 'Normal', reason: 'RolloutStarted' })
  })

  it('lets the newest change replace the one that is being tried', () => {
    const { state, pods } = plan({
      target: 'newest',
      state: trying(0, 10),
      revisions: [seen('old', 10), seen('new', 1)],
    })
    expect(state).toMatchObject({ stable: 'old', canary: 'newest', step: -1, weight: 0 })
    expect(pods).toEqual({ old: 10, new: 0, newest: 1 })
  })

  it('gives its requests back before the newest change replaces it late', () => {
    const late = { target: 'newest', state: trying(2, 90) }
    const first = plan({ ...late, revisions: [seen('old', 1), seen('new', 9)] })
    expect(first.state).toMatchObject({ stable: 'old', canary: 'new', weight: 89 })
    expect(first.pods).toEqual({ old: 1, new: 8 })
    const last = plan({ target: 'newest', state: first.state, revisions: [seen('old', 10), seen('new', 9)] })
    expect(last.state).toMatchObject({ stable: 'old', canary: 'newest', step: -1 })
    expect(last.pods).toEqual({ old: 10, new: 0, newest: 1 })
  })

  it('is withdrawn when the spec goes back to what serves', () => {
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

  it('serves by itself when the Deployment of the old revision was deleted', () => {
    const { state, pods } = plan({ state: trying(0, 10), revisions: [seen('new', 1)] })
    expect(state).toMatchObject({ stable: 'new' })
    expect(pods).toEqual({ new: 10 })
  })
})

describe('a pool at zero', () => {
  it('starts one pod of the new revision to see whether it becomes ready', () => {
    const state = { stable: 'old', weight: 0, step: -1, since: time(-900) }
    expect(plan({ state, desired: 0, revisions: [seen('old', 0)] }).pods).toEqual({ old: 0, new: 1 })
  })

  it('promotes it when it is ready and lets it go', () => {
    const { state, pods } = plan({ state: trying(-1, 0), desired: 0, revisions: [seen('old', 0), seen('new', 1)] })
    expect(state).toMatchObject({ stable: 'new' })
    expect(pods).toEqual({ old: 0, new: 0 })
  })

  it('does not promote what was being tried before its step was held', () => {
    const input = { state: trying(0, 100), desired: 0, revisions: [seen('old', 0), seen('new', 1)] }
    expect(plan({ ...input, now: at(59) })).toMatchObject({ state: { canary: 'new', step: 0 }, pods: { new: 1 } })
    expect(plan({ ...input, now: at(60) }).state).toMatchObject({ stable: 'new' })
  })

  it('wakes the old revision when requests come before that', () => {
    expect(plan({ state: trying(-1, 0), desired: 2, revisions: [seen('old', 0), seen('new', 0)] }).pods).toEqual({
      old: 2,
      new: 1,
    })
  })
})

describe('a revision of other public names', () => {
  const answering = (names: Record<string, string[]>) => ({ namesOf: (revision: string) => names[revision] ?? [] })

  it('takes over without steps when nobody can ask it before it serves', () => {
    const names = answering({ old: ['v2'], new: ['v3'] })
    const ready = plan({ ...names, state: trying(-1, 0), revisions: [seen('old', 10), seen('new', 1)] })
    expect(ready.state).toMatchObject({ step: 2 })
    expect(ready.pods).toEqual({ old: 10, new: 10 })
    const all = plan({ ...names, state: ready.state, revisions: [seen('old', 10), seen('new', 10)], now: at(1) })
    expect(all.state).toEqual({ stable: 'new', weight: 0, step: -1, since: time(1) })
  })

  it('leaves the old one all its pods for the names that only it has', () => {
    const names = answering({ old: ['v2', 'service-v2'], new: ['v3', 'service-v2'] })
    const { pods } = plan({ ...names, state: trying(2, 90), revisions: [seen('old', 10), seen('new', 9)] })
    expect(pods).toEqual({ old: 10, new: 10 })
  })

  it('is as any other when it only has names besides', () => {
    const names = answering({ old: ['v2'], new: ['v2', 'v3'] })
    const { pods } = plan({ ...names, state: trying(2, 90), revisions: [seen('old', 1), seen('new', 9)] })
    expect(pods).toEqual({ old: 1, new: 10 })
  })
})

describe('Deployments that are of no use', () => {
  it('go when their last pod has gone', () => {
    const state = { stable: 'new', weight: 0, step: -1, since: time(0) }
    const left = (pods: number, replicas: number) =>
      plan({ state, revisions: [seen('new', 1), seen('old', 0, { pods, replicas })] }).leftover
    expect(left(1, 0)).toEqual([])
    expect(left(0, 1)).toEqual([])
    expect(left(0, 0)).toEqual(['old'])
  })

  it('stay while they serve or are being tried, at zero pods too', () => {
    expect(plan({ state: trying(-1, 0), desired: 0, revisions: [seen('old', 0), seen('new', 0)] }).leftover).toEqual([])
  })
})
