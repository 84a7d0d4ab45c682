import { describe, expect, it } from 'vitest'
import { at, did, plan, rollout, seen, time, trying } from './rollout.fixtures.ts'

describe('a canary', () => {
  it('enters the first step when a pod is ready', () => {
    const { state, pods } = plan({ state: trying(-1, 0), revisions: [seen('old', 10), seen('new', 1)], now: at(20) })
    expect(state).toMatchObject({ step: 0, weight: 10, since: time(20) })
    expect(pods).toEqual({ old: 9, new: 1 })
  })

  it('waits for minRequests, and reports it', () => {
    const revisions = [seen('old', 9), seen('new', 1)]
    const { state, why } = plan({ state: trying(0, 10), revisions, counts: new Map([['new', did(49)]]), now: at(90) })
    expect(state).toMatchObject({ step: 0, since: time(0) })
    expect(why).toContain('50 requests')
  })

  it('ends after its duration with enough requests', () => {
    const revisions = [seen('old', 9), seen('new', 1)]
    const { state, pods } = plan({
      state: trying(0, 10),
      revisions,
      counts: new Map([['new', did(50)]]),
      now: at(60),
    })
    expect(state).toMatchObject({ step: 1, since: time(60) })
    expect(pods).toEqual({ old: 9, new: 2 })
  })

  describe('with too few requests', () => {
    const few = { state: trying(0, 10), revisions: [seen('old', 9), seen('new', 1)] }
    const gated = (gate: Partial<typeof rollout.gate>) => ({
      rollout: { ...rollout, gate: { ...rollout.gate, ...gate } },
    })

    it('pauses, reports it, and continues when they have arrived', () => {
      expect(plan({ ...few, now: at(59) }).state.waiting).toBeUndefined()
      const paused = plan({ ...few, now: at(60) }).state
      expect(paused).toMatchObject({ step: 0, weight: 10, waiting: { for: 'Requests', since: time(60) } })
      const later = plan({ ...few, state: paused, now: at(90_000) }).state
      expect(later).toEqual(paused)
      const counts = new Map([['new', did(50)]])
      const next = plan({ ...few, state: later, counts, now: at(90_001) }).state
      expect(next).toMatchObject({ step: 1, since: time(90_001) })
      expect(next.waiting).toBeUndefined()
    })

    it('continues after ten durations with idle: promote', () => {
      const promoting = { ...few, ...gated({ idle: 'promote' }) }
      expect(plan({ ...promoting, now: at(599) }).state).toMatchObject({ step: 0 })
      expect(plan({ ...promoting, now: at(600) }).state).toMatchObject({ step: 1 })
    })

    it('continues if minRequests is 0', () => {
      expect(plan({ ...few, ...gated({ minRequests: 0 }), now: at(60) }).state).toMatchObject({ step: 1 })
    })

    it.each([{ idle: 'wait' }, { idle: 'promote' }, { minRequests: 0 }] as const)(
      'pauses while they cannot be read: %j',
      (gate) => {
        const counts = new Map([['new', did(500)]])
        const unread = { ...few, ...gated(gate), counts, isDemandFresh: false, now: at(5_000) }
        expect(plan(unread).state).toMatchObject({ step: 0, waiting: { for: 'Demand' } })
      },
    )
  })

  it('limits the weight to the share of the new pods', () => {
    const { state } = plan({ state: trying(1, 10), revisions: [seen('old', 9), seen('new', 2)], now: at(5) })
    expect(state).toMatchObject({ step: 1, weight: 20 })
  })

  it('starts its duration when the full weight is reached', () => {
    const enough = new Map([['new', did(500)]])
    const revisions = [seen('old', 5), seen('new', 5)]
    const { state } = plan({ state: trying(1, 40), revisions, counts: enough, now: at(300) })
    expect(state).toMatchObject({ step: 1, weight: 50, since: time(300) })
    expect(plan({ state, revisions, counts: enough, now: at(359) }).state).toMatchObject({ step: 1 })
    expect(plan({ state, revisions, counts: enough, now: at(360) }).state).toMatchObject({ step: 2 })
  })

  it('continues its duration while the pool grows, and ends at the full weight', () => {
    const enough = new Map([['new', did(500)]])
    const held = plan({ state: trying(0, 0), revisions: [seen('old', 9), seen('new', 1)], counts: enough }).state
    expect(held).toMatchObject({ weight: 10, since: time(0), weightReached: true })
    const more = { desired: 20, counts: enough }
    const grown = plan({ ...more, state: held, revisions: [seen('old', 19), seen('new', 1)], now: at(30) })
    expect(grown.state).toMatchObject({ step: 0, weight: 5, since: time(0), weightReached: true })
    const whole = plan({ ...more, state: grown.state, revisions: [seen('old', 18), seen('new', 2)], now: at(59) })
    expect(whole.state).toMatchObject({ step: 0, weight: 10, since: time(0) })
    const next = plan({ ...more, state: whole.state, revisions: [seen('old', 18), seen('new', 2)], now: at(60) })
    expect(next.state).toMatchObject({ step: 1, since: time(60) })
    expect(next.state.weightReached).toBeUndefined()
  })

  it('never has fewer ready pods than desired', () => {
    for (let ready = 0; ready <= 10; ready++) {
      for (const step of [-1, 0, 1, 2]) {
        const { pods } = plan({
          state: trying(step, 10),
          revisions: [seen('old', 10), seen('new', ready)],
          desired: 10,
        })
        expect((pods.old ?? 0) + ready).toBeGreaterThanOrEqual(10)
      }
    }
  })

  it.each([
    [2, 0, 2, 1],
    [2, 1, 1, 1],
    [3, 0, 3, 1],
    [5, 1, 3, 3],
    [7, 1, 4, 4],
  ])('of %d desired, in step %d, keeps %d old and %d new pods: shares round down', (desired, index, old, fresh) => {
    const full = rollout.steps[index]?.weight ?? 0
    const revisions = [seen('old', desired), seen('new', fresh)]
    const { state, pods } = plan({ state: trying(index, full), desired, revisions })
    expect(pods).toEqual({ old, new: fresh })
    // The old pods get their share at most.
    expect((desired * (100 - state.weight)) / 100).toBeLessThanOrEqual(old)
  })

  it.each([
    [1, 9, 40, 90],
    [1, 9, 20, 90],
    [5, 5, 40, 50],
    [10, 1, 40, 9],
  ])('with %d old and %d new ready pods keeps the weight when %d are desired: %d %%', (old, fresh, desired, weight) => {
    const { state } = plan({ state: trying(2, 90), desired, revisions: [seen('old', old), seen('new', fresh)] })
    expect(state.weight).toBe(weight)
  })

  it('keeps one old pod until everything is promoted', () => {
    const { pods, state } = plan({ state: trying(2, 90), revisions: [seen('old', 1), seen('new', 9)] })
    expect(pods).toEqual({ old: 1, new: 10 })
    expect(state).toMatchObject({ step: 2, weight: 90 })
  })

  it('is promoted when every pod is ready, and removes the old ones', () => {
    const { state, pods, event } = plan({ state: trying(2, 100), revisions: [seen('old', 1), seen('new', 10)] })
    expect(state).toMatchObject({ stable: 'new', weight: 0, step: -1 })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 0, new: 10 })
    expect(event?.reason).toBe('RolloutPromoted')
  })

  it('keeps an old pod until the last step, with the weight that this allows', () => {
    const most = { ...rollout, steps: [{ weight: 75, durationSeconds: 60 }] }
    const input = { rollout: most, desired: 3, counts: new Map([['new', did(500)]]) }
    const state = trying(0, 33)
    const reached = plan({ ...input, state, revisions: [seen('old', 1), seen('new', 2)], now: at(300) })
    expect(reached.state).toMatchObject({ step: 0, weight: 66, since: time(300), weightReached: true })
    expect(reached.pods).toEqual({ old: 2, new: 2 })
    const next = plan({ ...input, state: reached.state, revisions: [seen('old', 1), seen('new', 2)], now: at(360) })
    expect(next.state).toMatchObject({ step: 1 })
  })

  it('gets all requests while its pod is the only ready one, and stays in its step', () => {
    const swapped = [seen('old', 0), seen('new', 1)]
    const { state, pods } = plan({ state: trying(-1, 0), desired: 1, revisions: swapped, now: at(20) })
    expect(state).toMatchObject({ step: 0, weight: 100, weightReached: true, since: time(20) })
    expect(pods.new).toBe(1)
  })

  it('takes over at once without steps', () => {
    const { state, pods } = plan({
      rollout: { ...rollout, steps: [] },
      state: trying(-1, 0),
      revisions: [seen('old', 1), seen('new', 1)],
      desired: 1,
    })
    expect(state).toMatchObject({ step: 0, weight: 100 })
    expect(pods).toEqual({ old: 1, new: 1 })
  })
})
