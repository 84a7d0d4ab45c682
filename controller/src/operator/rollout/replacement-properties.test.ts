// Random rollouts and rollbacks, second by second: never more pods than desired plus maxSurge, never fewer ready pods
// than desired minus maxUnavailable by the operator's own doing, and always an end if there is room.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { planRollout } from './canary.ts'
import { resolveBounds } from './pod-numbers.ts'
import { at, did, rollout as plain, time } from './rollout.fixtures.ts'
import type { RevisionObservation } from './rollout-decision.ts'

type Scene = {
  readonly desired: number
  /** Slots beyond the desired pods. */
  readonly spare: number
  readonly maxSurge: number | string
  readonly maxUnavailable: number | string
  readonly startSeconds: number
  readonly drainSeconds: number
  /** Pods without a slot are not created; otherwise they exist and are unschedulable. */
  readonly isQuota: boolean
  /** `back`: the spec asks for the old revision after the last step began. */
  readonly goes: 'on' | 'back'
}

/** Second at which each scheduled pod is ready, and second at which each draining one is gone. */
type Group = { pods: number[]; draining: number[]; asked: number }

const revisions = ['old', 'new'] as const
const gate = { ...plain.gate, readySeconds: 200, minRequests: 0 }
const limitSeconds = 10_000

const readyIn = ({ pods }: Group, second: number): number => pods.filter((readyAt) => readyAt <= second).length
const countDraining = ({ draining }: Group, second: number): number =>
  draining.filter((goneAt) => goneAt > second).length

function observe(scene: Scene, revision: string, { group, second }: { group: Group; second: number }) {
  const { pods, asked } = group
  const unplaced = asked - pods.length
  const ready = readyIn(group, second)
  const noRoom = { reason: scene.isQuota ? 'QuotaRefused' : 'PodUnschedulable', message: 'No room.' } as const
  const observation: RevisionObservation = {
    revision,
    replicas: asked,
    pods: pods.length + (scene.isQuota ? 0 : unplaced) + countDraining(group, second),
    ready,
    up: ready,
    ...(unplaced > 0 && { noRoom }),
  }
  return observation
}

type Moment = { readonly scene: Scene; readonly groups: Readonly<Record<string, Group>>; readonly second: number }

/** Kubernetes' reaction to the desired numbers: it removes unready pods first. */
function carryOut({ scene, groups, second }: Moment, asked: ReadonlyMap<string, number>): void {
  const slots = scene.desired + scene.spare
  for (const [revision, group] of Object.entries(groups)) {
    group.asked = asked.get(revision) ?? 0
    group.pods.sort((a, b) => a - b)
    for (const _ of group.pods.splice(group.asked)) group.draining.push(second + scene.drainSeconds)
  }
  for (const group of Object.values(groups)) {
    const taken = (): number =>
      Object.values(groups).reduce((sum, one) => sum + one.pods.length + countDraining(one, second), 0)
    while (group.pods.length < group.asked && taken() < slots) group.pods.push(second + scene.startSeconds)
  }
}

function walk(scene: Scene) {
  const { desired, maxSurge, maxUnavailable } = scene
  const rollout = { ...plain, gate, maxSurge, maxUnavailable, steps: [{ weight: 30, durationSeconds: 5 }] }
  const groups: Record<(typeof revisions)[number], Group> = {
    old: { pods: Array(desired).fill(0), draining: [], asked: desired },
    new: { pods: [], draining: [], asked: 0 },
  }
  let state: RolloutStatus = { stable: 'old', weight: 0, step: -1, since: time(0) }
  let [fewestReady, mostPods, unserved, second, target] = [desired, desired, false, 0, 'new']
  for (; second < limitSeconds; second++) {
    if (scene.goes === 'back' && state.step >= 1) target = 'old'
    const seen = revisions.map((revision) => observe(scene, revision, { group: groups[revision], second }))
    const ready = seen.reduce((sum, one) => sum + one.ready, 0)
    fewestReady = Math.min(fewestReady, ready)
    mostPods = Math.max(
      mostPods,
      seen.reduce((sum, one) => sum + Math.max(one.pods, one.replicas), 0),
    )
    const isDone = second > 0 && state.canary === undefined && (state.stable === 'new' || target === 'old')
    if (isDone && ready === desired) break
    const elapsed = (since: string): number => second - (Date.parse(since) - at(0).getTime()) / 1000
    const plan = planRollout({
      rollout,
      target,
      desired,
      state,
      revisions: seen,
      namesOf: () => ['v2'],
      counts: new Map([['new', did(100)]]),
      isDemandFresh: true,
      retry: undefined,
      elapsed,
      now: at(second),
    })
    state = plan.state
    // A revision without a ready pod gets no requests while the other one has ready pods.
    const share = { old: 100 - state.weight, new: state.weight }
    const [old, fresh] = seen
    if (state.canary !== undefined && ready > 0) {
      unserved ||= (old?.ready === 0 && share.old > 0 && state.step >= 0) || (fresh?.ready === 0 && share.new > 0)
    }
    carryOut({ scene, groups, second }, plan.pods)
  }
  return { state, second, fewestReady, mostPods, unserved, isOver: second < limitSeconds }
}

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    desired: fc.integer({ min: 1, max: 30 }),
    spare: fc.nat(4),
    maxSurge: fc.constantFrom<number | string>(0, 1, 2, '25%', '100%'),
    maxUnavailable: fc.constantFrom<number | string>(0, 1, 2, '30%'),
    startSeconds: fc.integer({ min: 1, max: 60 }),
    drainSeconds: fc.integer({ min: 1, max: 60 }),
    isQuota: fc.boolean(),
    goes: fc.constantFrom('on' as const, 'back' as const),
  })
  .filter(({ maxSurge, maxUnavailable }) => maxSurge !== 0 || maxUnavailable !== 0)

/** Seeded, so each run has the same cases. */
const runs = { numRuns: 100, seed: 20_261_123 }

describe('the replacement of one revision by another', () => {
  it('keeps its bounds, and ends if there is room or maxUnavailable allows making some', () => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const { state, fewestReady, mostPods, unserved, isOver } = walk(scene)
        const { maxSurge, maxUnavailable } = resolveBounds({ ...scene, strategy: 'Canary' }, scene.desired)
        expect(fewestReady).toBeGreaterThanOrEqual(scene.desired - maxUnavailable)
        expect(mostPods).toBeLessThanOrEqual(scene.desired + maxSurge)
        expect(unserved).toBe(false)
        if (scene.spare > 0 || maxUnavailable > 0) {
          expect(isOver).toBe(true)
          expect(state.stable).toBe(scene.goes === 'on' ? 'new' : 'old')
        } else {
          expect(state).toMatchObject({ stable: 'old', canary: 'new', step: -1, waiting: { for: 'Room' } })
        }
        expect(state.failed).toBeUndefined()
      }),
      runs,
    )
  })

  it.each([1, 4, 40])('of %d pods takes one slot at a time if all slots are in use', (desired) => {
    const cramped = { desired, spare: 0, maxSurge: 1, maxUnavailable: 1, startSeconds: 20, drainSeconds: 5 }
    for (const isQuota of [true, false]) {
      const { state, fewestReady, isOver } = walk({ ...cramped, isQuota, goes: 'on' })
      expect(isOver).toBe(true)
      expect(state.stable).toBe('new')
      expect(fewestReady).toBe(desired - 1)
    }
  })
})
