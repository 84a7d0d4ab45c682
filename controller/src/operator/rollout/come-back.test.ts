import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { at, did, plan, seen, time, trying } from './rollout-fixtures.ts'
import type { RevisionSeen } from './rollout-input.ts'

describe('the way back', () => {
  const slow = new Map([
    ['new', did(500, { serviceSeconds: 2 })],
    ['old', did(50)],
  ])
  const late = [seen('old', 1), seen('new', 9)]

  it('leaves the new one the images that the old one has no pods for yet', () => {
    const { state, pods, news } = plan({ state: trying(2, 90), revisions: late, figures: slow })
    expect(state).toMatchObject({ stable: 'old', canary: 'new', weight: 90, failed: { reason: 'CanaryLatency' } })
    expect(pods).toEqual({ old: 10, new: 9 })
    expect(news?.reason).toBe('RolloutRolledBack')
    const half = plan({ state, revisions: [seen('old', 6), seen('new', 9)], figures: slow, now: at(5) })
    expect(half.state).toMatchObject({ canary: 'new', weight: 40, failed: state.failed })
    expect(half.pods).toEqual({ old: 10, new: 4 })
    expect(half.news).toBeUndefined()
    const over = plan({ state: half.state, revisions: [seen('old', 10), seen('new', 4)], figures: slow, now: at(9) })
    expect(over.state).toEqual({ stable: 'old', weight: 0, step: -1, since: time(9), failed: state.failed })
    expect(over.pods).toEqual({ old: 10, new: 0 })
  })

  it('never cuts what is ready below what is wanted', () => {
    for (let ready = 0; ready <= 10; ready++) {
      const before = plan({ state: trying(2, 90), revisions: late, figures: slow }).state
      const { pods } = plan({ state: before, revisions: [seen('old', ready), seen('new', 10)], figures: slow })
      expect(ready + (pods.new ?? 0)).toBeGreaterThanOrEqual(9)
      expect(pods.old).toBe(10)
    }
  })

  it('gives the new one no more pods again when old ones go, and the share of those that are ready', () => {
    const { state } = plan({ state: trying(2, 90), revisions: late, figures: slow })
    const half = plan({ state, revisions: [seen('old', 6), seen('new', 9)], figures: slow }).state
    const next = plan({ state: half, revisions: [seen('old', 2), seen('new', 4)], figures: slow })
    expect(next.state.weight).toBe(67)
    expect(next.pods.new).toBe(4)
  })

  it('takes all images at once from one that spoils more than one of ten', () => {
    const bad = new Map([['new', did(800, { failed: 100 })]])
    const { state, pods } = plan({ state: trying(2, 90), revisions: late, figures: bad })
    expect(state.canary).toBeUndefined()
    expect(pods).toEqual({ old: 10, new: 0 })
  })

  it('does not take one failure in the first images after the return for a rate', () => {
    const { state } = plan({ state: trying(2, 90), revisions: late, figures: slow })
    const one = new Map([['new', did(8, { failed: 1 })]])
    expect(plan({ state, revisions: late, figures: one, now: at(1) }).pods).toEqual({ old: 10, new: 9 })
    const many = new Map([['new', did(8, { failed: 6 })]])
    expect(plan({ state, revisions: late, figures: many, now: at(1) }).pods).toEqual({ old: 10, new: 0 })
  })

  describe('in a cluster without room for the old pods beside the new ones', () => {
    const full = { problem: { reason: 'PodUnschedulable', message: 'No node has room.' } } as const
    const unasked = { problem: { reason: 'QuotaRefused', message: 'Quota is used up.' } } as const

    type Cluster = {
      readonly desired: number
      readonly room: number
      readonly startSeconds: number
      readonly drainSeconds: number
      /** Of a pool under a quota, pods without room are not made, and Kubernetes tries again when it is asked again. */
      readonly quota?: boolean
    }

    /** What serves, second by second, until the new revision has gone. */
    function walk(
      { desired, room, startSeconds, drainSeconds, quota = false }: Cluster,
      begin = trying(2, share(desired)),
    ) {
      let state = begin
      let fresh = room - 1
      let asked = 1
      const leaving: number[] = []
      const old: number[] = [0]
      const serving: number[] = []
      let second = 0
      for (; second <= 20_000 && (state.canary !== undefined || second === 0); second++) {
        const leavingNow = leaving.filter((gone) => gone > second).length
        const ready = old.filter((when) => when <= second).length
        serving.push(ready + fresh)
        const pods = fresh + leavingNow
        const revisions = [
          seen('old', ready, { coming: old.length - ready, ...(old.length < asked && (quota ? unasked : full)) }),
          seen('new', fresh, { replicas: fresh, pods }),
        ]
        const next = plan({ state, desired, revisions, figures: slow, now: at(second) })
        state = next.state
        for (; fresh > (next.pods.new ?? 0); fresh--) leaving.push(second + drainSeconds)
        const isAskedAnew = asked !== next.pods.old
        asked = next.pods.old ?? 0
        if (quota && !isAskedAnew) continue
        while (old.length < asked && old.length + pods < room) old.push(second + startSeconds)
      }
      return { state, serving, seconds: second, asked }
    }

    const share = (desired: number): number => Math.floor((100 * (desired - 1)) / desired)

    it.each([
      { desired: 10, startSeconds: 3, drainSeconds: 7 },
      { desired: 10, startSeconds: 40, drainSeconds: 7 },
      { desired: 10, startSeconds: 3, drainSeconds: 65 },
      { desired: 10, startSeconds: 20, drainSeconds: 35, quota: true },
      { desired: 7, startSeconds: 40, drainSeconds: 2 },
      { desired: 1, startSeconds: 5, drainSeconds: 7 },
      { desired: 300, startSeconds: 20, drainSeconds: 7 },
      { desired: 300, startSeconds: 3, drainSeconds: 35, quota: true },
    ])('gives a tenth up at a time, when the one before it is replaced: %j', (cluster) => {
      const { desired, startSeconds, drainSeconds } = cluster
      const atOnce = Math.max(1, Math.floor(desired / 10))
      const { state, serving, seconds } = walk({ ...cluster, room: desired })
      expect(state).toMatchObject({ stable: 'old', failed: { reason: 'CanaryLatency' } })
      expect(state.canary).toBeUndefined()
      expect(Math.min(...serving)).toBeGreaterThanOrEqual(desired - atOnce)
      expect(seconds).toBeLessThanOrEqual(20 + Math.ceil(desired / atOnce) * (startSeconds + drainSeconds + 4))
    })

    it.each([false, true])('comes to an end with less room than the pool wants (a quota: %j)', (quota) => {
      for (const desired of [12, 40]) {
        const { state, serving, seconds } = walk({
          desired,
          room: desired - 3,
          startSeconds: 20,
          drainSeconds: 7,
          quota,
        })
        expect(state.canary).toBeUndefined()
        expect(Math.min(...serving)).toBeGreaterThanOrEqual(desired - 3 - Math.floor(desired / 10))
        expect(seconds).toBeLessThan(40 * 40)
      }
    })

    it('asks for all pods of the old one again at its end', () => {
      expect(walk({ desired: 10, room: 10, startSeconds: 3, drainSeconds: 7 }).asked).toBe(10)
    })

    const back = (kept: number, more = {}) => ({
      kept,
      leaving: 0,
      tight: false,
      readyBefore: 1,
      since: time(0),
      ...more,
    })
    const failed = { revision: 'new', reason: 'CanaryLatency', message: 'x', time: time(0) } as const
    const returning = (kept: number, more = {}) => trying(2, 90, { failed, back: back(kept, more) })

    it.each(['ImagePullFailed', 'PodCrashing', 'ConfigMissing', 'PodRefused', 'ModelLoadFailed'] as const)(
      'gives nothing up for old pods that do not come by %s: room is not what is missing',
      (reason) => {
        const revisions = [seen('old', 1, { problem: { reason, message: 'x' } }), seen('new', 9)]
        const { state, pods } = plan({ state: returning(9), revisions, now: at(5_000) })
        expect(state).toMatchObject({ canary: 'new', back: { kept: 9 } })
        expect(pods).toEqual({ old: 10, new: 9 })
      },
    )

    it('loses no more than one where the old pods fit nowhere, until a long time has passed', () => {
      let state: RolloutStatus = returning(9)
      let fresh = 9
      const kept = new Map<number, number>()
      for (let second = 0; second <= 1_300; second++) {
        const next = plan({ state, revisions: [seen('old', 1, full), seen('new', fresh)], now: at(second) })
        state = next.state
        fresh = next.pods.new ?? 0
        kept.set(second, fresh)
      }
      expect([kept.get(9), kept.get(10), kept.get(609), kept.get(611), kept.get(1_210), kept.get(1_213)]).toEqual([
        9, 8, 8, 7, 7, 7,
      ])
    })

    it('does not wait forever for an old pod that never takes images', () => {
      const revisions = [seen('old', 1, { ...full, coming: 1 }), seen('new', 9)]
      expect(plan({ state: returning(9), revisions, now: at(599) }).pods.new).toBe(9)
      expect(plan({ state: returning(9), revisions, now: at(600) }).pods.new).toBe(8)
    })

    it('asks for no fewer old pods than have a place, whatever else is there', () => {
      const state = returning(6, { tight: true, readyBefore: 2 })
      const evicted = [seen('old', 3, { coming: 1 }), seen('new', 6, { pods: 8 })]
      expect(plan({ state, revisions: evicted, now: at(3) }).pods.old).toBe(4)
    })

    it('keeps what is not ready for a moment', () => {
      const none = [seen('old', 0, { coming: 1 }), seen('new', 0, { replicas: 9, pods: 9 })]
      const { state, pods } = plan({ state: returning(9), revisions: none, now: at(5) })
      expect(state).toMatchObject({ canary: 'new', back: { kept: 9 } })
      expect(pods).toEqual({ old: 10, new: 9 })
    })

    it('waits ten seconds for room, and for what is on its way', () => {
      const short = [seen('old', 1, full), seen('new', 9)]
      expect(plan({ state: returning(9), revisions: short, now: at(9) }).pods).toEqual({ old: 10, new: 9 })
      const given = plan({ state: returning(9), revisions: short, now: at(10) })
      expect(given.state.back).toEqual(back(8, { leaving: 1, tight: true, since: time(10) }))
      expect(given.pods).toEqual({ old: 1, new: 8 })
      const coming = [seen('old', 1, { ...full, coming: 1 }), seen('new', 9)]
      expect(plan({ state: returning(9), revisions: coming, now: at(500) }).pods).toEqual({ old: 10, new: 9 })
      const leaving = [seen('old', 1, full), seen('new', 9, { pods: 10 })]
      expect(plan({ state: returning(9), revisions: leaving, now: at(500) }).pods).toEqual({ old: 10, new: 9 })
    })

    it('gives no more than a tenth for one look in which none is ready', () => {
      const revisions = [seen('old', 2, full), seen('new', 0, { replicas: 8, pods: 8 })]
      const { pods } = plan({ state: returning(8, { tight: true }), revisions, now: at(700) })
      expect(pods.new).toBe(7)
    })

    it('keeps the last pod that serves for long before it goes for room that may come', () => {
      const state = trying(0, 90, { failed, back: back(1, { readyBefore: 0 }) })
      const one = { state, desired: 1, revisions: [seen('old', 0, full), seen('new', 1)] }
      expect(plan({ ...one, now: at(599) }).pods.new).toBe(1)
      expect(plan({ ...one, now: at(600) }).pods.new).toBe(0)
    })

    it('keeps what this process alone does not reach, and its share', () => {
      const unreached = [seen('old', 1, full), seen('new', 0, { replicas: 9, pods: 9, up: 9 })]
      const { state, pods } = plan({ state: returning(9), revisions: unreached, now: at(5) })
      expect(state).toMatchObject({ weight: 90, back: { kept: 9 } })
      expect(pods.new).toBe(9)
      const partly = [seen('old', 1, full), seen('new', 2, { replicas: 9, pods: 9, up: 9 })]
      const blip = plan({ state: returning(9), revisions: partly, now: at(10) })
      expect(blip.state).toMatchObject({ weight: 67, back: { kept: 8 } })
      const over = plan({ state: { ...blip.state, back: back(9) }, revisions: late, now: at(11) })
      expect(over.state.weight).toBe(90)
    })

    it('begins its time when it is withdrawn, however long the step has lasted', () => {
      const lacking = { since: time(0), ready: 8 }
      const short = [seen('old', 1, full), seen('new', 9)]
      const first = plan({ target: 'old', state: trying(2, 90, { lacking }), revisions: short, now: at(3_000) })
      expect(first.state).toMatchObject({ since: time(3_000), back: back(9, { since: time(3_000) }) })
      expect(first.state.lacking).toBeUndefined()
      expect(first.pods).toEqual({ old: 10, new: 9 })
      const next = plan({ target: 'old', state: first.state, revisions: short, now: at(3_009) })
      expect(next.pods).toEqual({ old: 10, new: 9 })
    })
  })

  it('goes on when what failed is withdrawn and asked for again before it has gone', () => {
    const first = plan({ state: trying(2, 90), revisions: late, figures: slow })
    const withdrawn = plan({ target: 'old', state: first.state, revisions: late, now: at(2) })
    const again = plan({ state: withdrawn.state, revisions: [seen('old', 1), seen('new', 10)], now: at(4) })
    expect(again.state).toMatchObject({ canary: 'new', failed: { reason: 'CanaryLatency' }, back: { kept: 9 } })
  })

  it('leaves its share to one that spoils no more than the old one', () => {
    const both = new Map([
      ['new', did(85, { timedOut: 15, serviceSeconds: 2 })],
      ['old', did(85, { timedOut: 15 })],
    ])
    expect(plan({ state: trying(2, 90), revisions: late, figures: both }).pods).toEqual({ old: 10, new: 9 })
  })

  describe('when a third revision is asked for and the old one does not come back', () => {
    const gone = { problem: { reason: 'ImagePullFailed', message: 'x' } } as const
    const third = { target: 'newest' } as const
    const begun = (weight: number, revisions: RevisionSeen[]) =>
      plan({ ...third, state: trying(1, weight), revisions }).state

    it('goes on for long as if none were asked for', () => {
      const revisions = [seen('old', 4, { ...gone, coming: 6 }), seen('new', 6)]
      const { state, pods } = plan({ ...third, state: begun(60, revisions), revisions, now: at(599) })
      expect(state).toMatchObject({ stable: 'old', canary: 'new' })
      expect(pods).toEqual({ old: 10, new: 6 })
    })

    it('changes the parts where the new one serves more, and loses nothing by that', () => {
      const revisions = [seen('old', 4, { ...gone, coming: 6 }), seen('new', 6)]
      const first = plan({ ...third, state: begun(60, revisions), revisions, now: at(600) })
      let { state, pods } = first
      expect(first.news?.reason).toBe('RolloutPromoted')
      const bad = new Map([['new', did(0, { failed: 30 })]])
      const worse = plan({ ...third, state: begun(60, revisions), revisions, figures: bad, now: at(600) })
      expect(worse.state).toMatchObject({ stable: 'old', canary: 'newest' })
      expect(state).toMatchObject({ stable: 'new', canary: 'old', back: { kept: 4 } })
      expect(pods).toEqual({ old: 4, new: 10 })
      for (const ready of [6, 7, 8, 9, 10]) {
        const now = [seen('old', pods.old ?? 0), seen('new', ready)]
        ;({ state, pods } = plan({ ...third, state, revisions: now, now: at(600 + ready) }))
        expect((pods.old ?? 0) + ready).toBeGreaterThanOrEqual(10)
      }
      expect(state).toEqual({ stable: 'new', canary: 'newest', weight: 0, step: -1, since: time(610) })
      expect(pods).toEqual({ old: 0, new: 10, newest: 1 })
    })

    it('gives the new one up by tenths where the old one serves as much', () => {
      const revisions = [seen('old', 9, gone), seen('new', 1)]
      const { state, pods } = plan({ ...third, state: begun(10, revisions), revisions, now: at(600) })
      expect(state).toMatchObject({ stable: 'old', canary: 'newest', step: -1 })
      expect(pods).toEqual({ old: 10, new: 0, newest: 1 })
      const half = [seen('old', 5, gone), seen('new', 5)]
      expect(plan({ ...third, state: begun(50, half), revisions: half, now: at(600) }).pods.new).toBe(4)
    })
  })

  it('gives no image to one that has never had any', () => {
    const state = trying(-1, 0)
    const { pods } = plan({ target: 'old', state, revisions: [seen('old', 9, { coming: 1 }), seen('new', 1)] })
    expect(pods).toEqual({ old: 10, new: 0 })
  })

  it('is taken up again, its step again, when the spec asks for it once more', () => {
    const back = plan({
      target: 'old',
      state: trying(1, 50, { reached: true }),
      revisions: [seen('old', 5), seen('new', 5)],
      now: at(55),
    })
    expect(back.state).toMatchObject({ canary: 'new', back: { kept: 5 }, since: time(55) })
    const again = plan({
      state: back.state,
      revisions: [seen('old', 6), seen('new', 5)],
      figures: new Map([['new', did(500)]]),
      now: at(80),
    })
    expect(again.state).toMatchObject({ step: 1, since: time(80) })
    expect(again.state.back).toBeUndefined()
  })

  it('is the same for one that the spec no longer asks for, and is told at its end', () => {
    const first = plan({ target: 'old', state: trying(2, 90), revisions: late })
    expect(first.state).toMatchObject({ stable: 'old', canary: 'new', weight: 90 })
    expect(first.pods).toEqual({ old: 10, new: 9 })
    expect(first.news).toBeUndefined()
    const last = plan({ target: 'old', state: first.state, revisions: [seen('old', 10), seen('new', 9)], now: at(9) })
    expect(last.state).toEqual({ stable: 'old', weight: 0, step: -1, since: time(9) })
    expect(last.news?.reason).toBe('RolloutWithdrawn')
  })
})
