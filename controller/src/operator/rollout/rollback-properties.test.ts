// Rollbacks in clusters of all kinds, second by second: whatever happens they end where they can, no more than a tenth
// of the pods (one at least) is missing where nothing else happens, and the last one that serves stays.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { planRollout } from './canary.ts'
import type { RevisionObservation } from './rollout-input.ts'

const at = (seconds: number): Date => new Date(Date.UTC(2026, 10, 21) + seconds * 1_000)
const time = (seconds: number): string => `${at(seconds).toISOString().slice(0, 19)}Z`

type Scene = {
  readonly desired: number
  /** Pods of all revisions that there is room for. */
  readonly room: number
  /** Of those ready in the beginning, pods of the canary. */
  readonly canaryPods: number
  readonly startSeconds: number
  readonly drainSeconds: number
  /** Pods without room are not made; Kubernetes tries again when another number is asked for, else after 1,000 s. */
  readonly quota: boolean
  /** What becomes of stable pods that are asked for: they never come, for want of a node or of their image. */
  readonly never?: 'PodUnschedulable' | 'ImagePullFailed'
  /** What the spec asks for. */
  readonly target: 'old' | 'new' | 'third'
}

/** Pods of one revision: when each is ready, and when each of those that go has gone. */
type Group = { readonly pods: number[]; readonly leaving: number[]; asked: number; refused: boolean }
type Cluster = { scene: Scene; readonly old: Group; readonly new: Group; readonly third: Group }

const readySeconds = 120
const gate = { readySeconds, maxErrorRate: 0.02, maxLatencyRatio: 1.5, minRequests: 50 }
const rollout = { steps: [{ weight: 50, durationSeconds: 60 }], gate }
const revisions = ['old', 'new', 'third'] as const
const limitSeconds = 10_000

function clusterOf(scene: Scene): Cluster {
  const group = (ready: number): Group => ({ pods: Array(ready).fill(0), leaving: [], asked: ready, refused: false })
  const { desired, room, canaryPods } = scene
  return { scene, old: group(Math.min(desired, room) - canaryPods), new: group(canaryPods), third: group(0) }
}

const readyOf = ({ pods }: Group, second: number): number => pods.filter((when) => when <= second).length
const readyIn = (cluster: Cluster, second: number): number =>
  revisions.reduce((sum, revision) => sum + readyOf(cluster[revision], second), 0)

function observe(
  { scene, ...groups }: Cluster,
  revision: (typeof revisions)[number],
  second: number,
): RevisionObservation {
  const { pods, leaving, asked } = groups[revision]
  const ready = readyOf(groups[revision], second)
  const pending = scene.quota ? 0 : Math.max(0, asked - pods.length)
  const reason =
    revision === 'old' && scene.never ? scene.never : pods.length < asked ? ('PodUnschedulable' as const) : undefined
  return {
    revision,
    replicas: asked,
    pods: pods.length + pending + leaving.filter((gone) => gone > second).length,
    ready,
    up: ready,
    coming: pods.length - ready,
    ...(reason && { problem: { reason, message: 'x' } }),
  }
}

/** What Kubernetes does with the numbers asked for. */
function carryOut({ scene, ...groups }: Cluster, asked: ReadonlyMap<string, number>, second: number): void {
  for (const revision of revisions) {
    const group = groups[revision]
    const wanted = asked.get(revision) ?? 0
    group.refused &&= group.asked === wanted
    group.asked = wanted
    // Those go first that are not ready.
    group.pods.sort((a, b) => a - b)
    for (const _ of group.pods.splice(wanted)) group.leaving.push(second + scene.drainSeconds)
  }
  const taken = (): number =>
    revisions.reduce((sum, revision) => {
      const { pods, leaving } = groups[revision]
      return sum + pods.length + leaving.filter((gone) => gone > second).length
    }, 0)
  for (const revision of revisions) {
    const group = groups[revision]
    const never = revision === 'old' ? scene.never : undefined
    if (never === 'PodUnschedulable' || (scene.quota && group.refused && second % 1_000 > 0)) continue
    const readyAt = never ? Number.POSITIVE_INFINITY : second + scene.startSeconds
    while (group.pods.length < group.asked && taken() < scene.room) group.pods.push(readyAt)
    group.refused = group.pods.length < group.asked
  }
}

/** Until its end or `limitSeconds`. `disturb` changes the cluster each second; it says when nothing is ready. */
function walk(scene: Scene, disturb?: (second: number, cluster: Cluster) => boolean) {
  const cluster = clusterOf(scene)
  const start = readyIn(cluster, 0)
  let state: RolloutStatus = {
    stable: 'old',
    canary: 'new',
    step: 1,
    weight: Math.ceil((100 * scene.canaryPods) / start),
    since: time(0),
    ...(scene.target === 'new' && {
      failed: { revision: 'new', reason: 'CanaryLatency', message: 'x', time: time(0) },
    }),
  }
  const ready: number[] = []
  let second = 0
  for (; second < limitSeconds && state.canary === 'new'; second++) {
    const unready = disturb?.(second, cluster) === true
    ready.push(readyIn(cluster, second))
    const seen = revisions.map((revision) => observe(cluster, revision, unready ? -1 : second))
    const { target, desired } = cluster.scene
    const input = { rollout, target, desired, state, revisions: seen, namesOf: () => ['v2'], counts: new Map() }
    const next = planRollout({ ...input, now: at(second) })
    state = next.state
    carryOut(cluster, next.pods, second)
  }
  return { state, seconds: second, missing: start - Math.min(...ready), ready, asked: cluster.old.asked }
}

const scenes = ({ spare, ...fixed }: Partial<Scene> & { readonly spare: fc.Arbitrary<number> }): fc.Arbitrary<Scene> =>
  fc
    .record({
      desired: fc.integer({ min: 2, max: 30 }),
      spare,
      share: fc.nat(99),
      startSeconds: fc.integer({ min: 1, max: 60 }),
      drainSeconds: fc.integer({ min: 1, max: 60 }),
      quota: fc.boolean(),
      target: fc.constantFrom('old' as const, 'new' as const, 'third' as const),
    })
    .map(({ spare: more, share, ...scene }) => {
      const room = Math.max(2, scene.desired + more)
      const canaryPods = 1 + Math.floor(((Math.min(room, scene.desired) - 1) * share) / 100)
      return { ...scene, room, canaryPods, ...fixed }
    })

const tenthOf = (pods: number): number => Math.max(1, Math.floor(pods / 10))

/** Always the same scenes; 8,000 others were walked once. */
const runs = { numRuns: 100, seed: 20_261_121 }

describe('a rollback', () => {
  it.each([
    ['room for twice the pool', fc.constant(30)],
    ['hardly any room', fc.nat(3)],
    ['less room than the pool wants', fc.integer({ min: -10, max: -1 })],
  ])('ends with no more than a tenth missing, with %s', (_what, spare) => {
    fc.assert(
      fc.property(scenes({ spare }), (scene) => {
        const { state, seconds, missing, asked } = walk(scene)
        const pods = Math.min(scene.desired, scene.room)
        expect(missing).toBeLessThanOrEqual(tenthOf(pods))
        const rounds = 1 + Math.ceil(pods / tenthOf(pods))
        expect(seconds).toBeLessThanOrEqual(rounds * (scene.startSeconds + scene.drainSeconds + 3))
        expect(state.stable).toBe('old')
        expect(asked).toBe(scene.desired)
      }),
      runs,
    )
  })

  it.each(['PodUnschedulable', 'ImagePullFailed'] as const)(
    'gives up a tenth and waits where stable pods never come, and is given up for a third revision: %s',
    (never) => {
      fc.assert(
        fc.property(scenes({ spare: fc.nat(3), never }), (scene) => {
          const { state, seconds, missing } = walk(scene)
          expect(missing).toBeLessThanOrEqual(tenthOf(scene.desired))
          if (scene.target === 'third') {
            expect(state.canary).toBe('third')
            expect(seconds).toBeLessThanOrEqual(readySeconds + 1)
          } else expect(seconds === 1 || seconds === limitSeconds).toBe(true)
        }),
        { ...runs, numRuns: 20 },
      )
    },
  )

  it('keeps the only pod until another one is ready or, without room for two, for readySeconds', () => {
    const one = { desired: 1, canaryPods: 1, target: 'old' as const }
    fc.assert(
      fc.property(scenes({ spare: fc.nat(1), ...one }), fc.boolean(), (quiet, fits) => {
        const { seconds, ready } = walk({ ...quiet, room: fits ? 2 : 1 })
        expect(ready.every((pods) => pods > 0)).toBe(true)
        expect(seconds).toBe(1 + (fits ? quiet.startSeconds : readySeconds))
      }),
      runs,
    )
  })

  it('ends whatever happens in its first ten minutes', () => {
    const kinds = ['desired', 'old', 'new', 'room', 'unready'] as const
    const event = fc.record({ at: fc.nat(600), kind: fc.constantFrom(...kinds), value: fc.nat(29) })
    fc.assert(
      fc.property(scenes({ spare: fc.nat(3) }), fc.array(event, { maxLength: 60 }), (quiet, events) => {
        const { state, seconds } = walk(quiet, (now, cluster) => {
          if (now > 600) cluster.scene = quiet
          const today = events.filter((one) => one.at === now)
          for (const { kind, value } of today) {
            if (kind === 'desired') cluster.scene = { ...cluster.scene, desired: 1 + value }
            if (kind === 'old') cluster.old.pods.splice(value % (1 + cluster.old.pods.length), 1)
            if (kind === 'new') cluster.new.pods.splice(value % (1 + cluster.new.pods.length), 1)
            if (kind === 'room') cluster.scene = { ...cluster.scene, room: Math.max(1, quiet.room - (value % 4)) }
          }
          return today.some(({ kind }) => kind === 'unready')
        })
        expect(seconds).toBeLessThan(limitSeconds)
        expect(state.canary).not.toBe('new')
      }),
      { ...runs, numRuns: 200 },
    )
  })
})
