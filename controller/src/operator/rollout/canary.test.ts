import { describe, expect, it } from 'vitest'
import { at, did, plan, rollout, seen, time, trying } from './rollout.fixtures.ts'

const crashing = { reason: 'PodCrashing', message: 'Pod a has ended 3 times.' } as const
const broken = { reason: 'ModelLoadFailed', message: 'Triton in pod a cannot load model u2netp: bad file.' } as const

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

  it('enters the first step when a pod is ready', () => {
    const { state, pods } = plan({ state: trying(-1, 0), revisions: [seen('old', 10), seen('new', 1)], now: at(20) })
    expect(state).toMatchObject({ step: 0, weight: 10, since: time(20) })
    expect(pods).toEqual({ old: 9, new: 1 })
  })

  it('waits for as many requests as it asks for, and says so', () => {
    const revisions = [seen('old', 9), seen('new', 1)]
    const { state, why } = plan({ state: trying(0, 10), revisions, counts: new Map([['new', did(49)]]), now: at(90) })
    expect(state).toMatchObject({ step: 0, since: time(0) })
    expect(why).toContain('50 requests')
  })

  it('goes on when it was held and seen enough', () => {
    const revisions = [seen('old', 9), seen('new', 1)]
    const { state, pods } = plan({
      state: trying(0, 10),
      revisions,
      counts: new Map([['new', did(50)]]),
      now: at(60),
    })
    expect(state).toMatchObject({ step: 1, since: time(60) })
    expect(pods).toEqual({ old: 9, new: 5 })
  })

  it('goes on after ten durations with fewer requests: nobody was there to notice', () => {
    const revisions = [seen('old', 9), seen('new', 1)]
    expect(plan({ state: trying(0, 10), revisions, now: at(599) }).state).toMatchObject({ step: 0 })
    expect(plan({ state: trying(0, 10), revisions, now: at(600) }).state).toMatchObject({ step: 1 })
  })

  it('gives the new pods no more than their part of the pool', () => {
    const { state } = plan({ state: trying(1, 10), revisions: [seen('old', 9), seen('new', 2)], now: at(5) })
    expect(state).toMatchObject({ step: 1, weight: 20 })
  })

  it('begins to hold when the step has all of its share', () => {
    const enough = new Map([['new', did(500)]])
    const revisions = [seen('old', 5), seen('new', 5)]
    const { state } = plan({ state: trying(1, 40), revisions, counts: enough, now: at(300) })
    expect(state).toMatchObject({ step: 1, weight: 50, since: time(300) })
    expect(plan({ state, revisions, counts: enough, now: at(359) }).state).toMatchObject({ step: 1 })
    expect(plan({ state, revisions, counts: enough, now: at(360) }).state).toMatchObject({ step: 2 })
  })

  it('holds on while the pool grows, and goes on when the share is whole again', () => {
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

  it('never has fewer ready pods than are wanted, whatever is ready by then', () => {
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
  ])(
    'of %d wanted, in step %d, keeps %d old pods beside %d new ones: a share is rounded down',
    (desired, index, old, fresh) => {
      const full = rollout.steps[index]?.weight ?? 0
      const revisions = [seen('old', desired), seen('new', fresh)]
      const { state, pods } = plan({ state: trying(index, full), desired, revisions })
      expect(pods).toEqual({ old, new: fresh })
      // What is left to the old pods is no more than they are for.
      expect((desired * (100 - state.weight)) / 100).toBeLessThanOrEqual(old)
    },
  )

  it.each([
    [1, 9, 40, 90],
    [1, 9, 20, 90],
    [5, 5, 40, 50],
    [10, 1, 40, 9],
  ])(
    'with %d old and %d new pods ready keeps the share of the new when %d are wanted: %d %%',
    (old, fresh, desired, weight) => {
      const { state } = plan({ state: trying(2, 90), desired, revisions: [seen('old', old), seen('new', fresh)] })
      expect(state.weight).toBe(weight)
    },
  )

  it('keeps one old pod until everything is promoted', () => {
    const { pods, state } = plan({ state: trying(2, 90), revisions: [seen('old', 1), seen('new', 9)] })
    expect(pods).toEqual({ old: 1, new: 10 })
    expect(state).toMatchObject({ step: 2, weight: 90 })
  })

  it('is promoted when every pod is ready, and lets the old ones go', () => {
    const { state, pods, event } = plan({ state: trying(2, 100), revisions: [seen('old', 1), seen('new', 10)] })
    expect(state).toMatchObject({ stable: 'new', weight: 0, step: -1 })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 0, new: 10 })
    expect(event?.reason).toBe('RolloutPromoted')
  })

  it('goes out at once without steps', () => {
    const { state, pods } = plan({
      rollout: { ...rollout, steps: [] },
      state: trying(-1, 0),
      revisions: [seen('old', 1), seen('new', 1)],
      desired: 1,
    })
    expect(state).toMatchObject({ step: 0, weight: 100 })
    expect(pods).toEqual({ old: 1, new: 1 })
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

  it('starts over when all its pods are gone for no reason of its own', () => {
    const { state, pods } = plan({ state: trying(1, 50), revisions: [seen('old', 5), seen('new', 0)], now: at(30) })
    expect(state).toMatchObject({ canary: 'new', step: -1, weight: 0, since: time(30) })
    expect(pods).toEqual({ old: 10, new: 1 })
  })

  it('is rolled back when it loses all its pods again and again', () => {
    const revisions = [seen('old', 5), seen('new', 0)]
    const third = plan({ state: trying(0, 10, { setbacks: 2 }), revisions, now: at(30) })
    expect(third.state).toMatchObject({ canary: 'new', step: -1, setbacks: 3 })
    const fourth = plan({ state: trying(0, 10, { setbacks: 3 }), revisions, now: at(30) })
    expect(fourth.state.failed).toMatchObject({ reason: 'CanaryNotReady', message: 'it lost its ready pods 4 times' })
  })

  it('remembers its setbacks from step to step', () => {
    const revisions = [seen('old', 10), seen('new', 1)]
    const entered = plan({ state: trying(-1, 0, { setbacks: 2 }), revisions }).state
    expect(entered).toMatchObject({ step: 0, setbacks: 2 })
    const counts = new Map([['new', did(50)]])
    expect(plan({ state: entered, revisions, counts, now: at(60) }).state).toMatchObject({ step: 1, setbacks: 2 })
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

describe('a revision that is no good', () => {
  it('keeps its one pod while it may still become ready, and the old one serves', () => {
    const revisions = [seen('old', 10), seen('new', 0, { problem: broken, pods: 1 })]
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
  ])('is rolled back when it is not ready in time: %j', (problem, reason) => {
    const revisions = [seen('old', 10), seen('new', 0, { pods: 1, ...(problem && { problem }) })]
    const { state, pods, event } = plan({ state: trying(-1, 0), revisions, now: at(601) })
    expect(state).toMatchObject({ stable: 'old', weight: 0, failed: { revision: 'new', reason, time: time(601) } })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 10, new: 0 })
    expect(event).toMatchObject({ type: 'Warning', reason: 'RolloutRolledBack' })
  })

  it('is not tried again while the spec asks for it', () => {
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

  it('does not start over for a moment in which none of its pods is ready', () => {
    const blink = [seen('old', 1), seen('new', 0, { replicas: 9, pods: 9 })]
    const first = plan({ state: trying(2, 90), revisions: blink, now: at(100) })
    expect(first.state).toMatchObject({ step: 2, weight: 90, shortfall: { since: time(100), ready: 0 } })
    expect(first.pods.new).toBe(10)
    expect(plan({ state: first.state, revisions: blink, now: at(109) }).state).toMatchObject({ step: 2 })
    expect(plan({ state: first.state, revisions: blink, now: at(110) }).state).toMatchObject({ step: -1, setbacks: 1 })
    const before = trying(2, 90, { shortfall: { since: time(0), ready: 3 } })
    expect(plan({ state: before, revisions: blink, now: at(100) }).state).toMatchObject({ step: 2 })
  })

  it('is judged by its rates alone also when its pods stop answering', () => {
    const revisions = [seen('old', 9), seen('new', 0, { pods: 1 })]
    const state = trying(0, 10, { shortfall: { since: time(-10), ready: 0 } })
    const few = plan({ state, revisions, counts: new Map([['new', did(60, { timedOut: 1 })]]) })
    expect(few.state).toMatchObject({ canary: 'new', step: -1, setbacks: 1 })
    const many = plan({ state, revisions, counts: new Map([['new', did(60, { timedOut: 2 })]]) })
    expect(many.state.failed).toMatchObject({ reason: 'CanaryErrorRate' })
  })

  it('is not blamed for requests that the old one spoils as often', () => {
    const revisions = [seen('old', 9), seen('new', 0, { pods: 1 })]
    const counts = new Map([
      ['new', did(8, { timedOut: 2 })],
      ['old', did(8, { timedOut: 2 })],
    ])
    expect(plan({ state: trying(0, 10), revisions, counts }).state.failed).toBeUndefined()
  })

  it('is rolled back when one of its pods does not stay up', () => {
    const revisions = [seen('old', 5), seen('new', 4, { pods: 5, problem: crashing })]
    expect(plan({ state: trying(1, 40), revisions }).state.failed).toMatchObject({ reason: 'CanaryNotReady' })
  })

  describe('in a later step', () => {
    const shortfall = { since: time(0), ready: 3 }
    const state = trying(1, 30, { shortfall })
    const revisions = [seen('old', 7), seen('new', 3, { replicas: 5, pods: 5 })]
    const refused = { problem: { reason: 'QuotaRefused', message: 'Quota is used up.' } } as const

    it('waits for its pods as long as the first one may take, and says for what', () => {
      const { state: next, why } = plan({ state, revisions, now: at(600) })
      expect(next).toMatchObject({ canary: 'new', weight: 30, shortfall })
      expect(why).toContain('2 more ready pods')
    })

    it('is rolled back when they are not ready in that time, with what is known of it', () => {
      expect(plan({ state, revisions, now: at(601) }).state.failed).toMatchObject({ reason: 'CanaryNotReady' })
      const known = [seen('old', 7), seen('new', 3, { replicas: 5, pods: 5, ...refused })]
      const { failed, shortfall: left } = plan({ state, revisions: known, now: at(601) }).state
      expect(failed?.message).toBe('2 of its pods were not ready within 600 s: Quota is used up')
      expect(left).toBeUndefined()
    })

    it('gives that time again with each pod that comes', () => {
      const four = [seen('old', 6), seen('new', 4, { replicas: 5, pods: 5 })]
      const { state: next } = plan({ state, revisions: four, now: at(590) })
      expect(next.shortfall).toEqual({ since: time(590), ready: 4 })
      expect(plan({ state: next, revisions: four, now: at(1_190) }).state.failed).toBeUndefined()
    })

    it("does not mind a moment's trouble, however long the step has lasted", () => {
      const long = trying(2, 90)
      const trouble = [seen('old', 1), seen('new', 9, { replicas: 10, pods: 10, ...refused })]
      const { state: next } = plan({ state: long, revisions: trouble, now: at(5_000) })
      expect(next).toMatchObject({ canary: 'new', shortfall: { since: time(5_000), ready: 9 } })
      const over = plan({ state: next, revisions: [seen('old', 1), seen('new', 10)], now: at(5_005) })
      expect(over.state).toMatchObject({ stable: 'new' })
    })

    it('keeps its share and its pods while this process alone does not reach them', () => {
      const unreached = [seen('old', 1), seen('new', 0, { replicas: 10, pods: 9, up: 9 })]
      const { state: next, pods } = plan({ state: trying(2, 90), revisions: unreached, now: at(5) })
      expect(next).toMatchObject({ step: 2, weight: 90, shortfall: { since: time(5), ready: 0 } })
      expect(next.setbacks).toBeUndefined()
      expect(pods.new).toBe(10)
      expect(plan({ state: next, revisions: unreached, now: at(606) }).state.failed).toBeDefined()
    })
  })

  it('is not taken for the better one while Kubernetes calls pods of the old one ready', () => {
    const full = { reason: 'PodUnschedulable', message: 'No node has room.' } as const
    const revisions = [seen('old', 0, { problem: full, pods: 11, up: 10 }), seen('new', 1)]
    expect(plan({ state: trying(-1, 0), revisions }).state).toMatchObject({ stable: 'old', canary: 'new', step: 0 })
  })

  it('is replaced without steps when it is the only one and never served', () => {
    const revisions = [seen('old', 0, { problem: broken, pods: 10 }), seen('new', 1)]
    const { state, pods } = plan({ state: trying(-1, 0), revisions })
    expect(state).toMatchObject({ stable: 'new' })
    expect(pods).toEqual({ old: 0, new: 10 })
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
