// The way back in clusters of all kinds, second by second: whatever happens on the way it ends, and where nothing else
// happens no more than a tenth of the pods, or one, is missing at any time.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { planRollout } from './canary.ts'
import type { RevisionSeen } from './rollout-input.ts'

const at = (seconds: number): Date => new Date(Date.UTC(2026, 10, 21) + seconds * 1_000)
const time = (seconds: number): string => `${at(seconds).toISOString().slice(0, 19)}Z`

type Scene = {
  desired: number
  room: number
  readonly startSeconds: number
  readonly drainSeconds: number
}

/** Pods of one revision: when each is ready, and when each of those that go has gone. */
type Group = { pods: number[]; leaving: number[]; asked: number }

const gate = { readySeconds: 120, maxErrorRate: 0.02, maxLatencyRatio: 1.5, minRequests: 50 }
const rollout = { steps: [{ weight: 50, durationSeconds: 60 }], gate }
const full = { problem: { reason: 'PodUnschedulable', message: 'No node has room.' } } as const

/** The spec asks for the old revision again, with so many of its pods left. `disturb` is called each second. */
function walk(scene: Scene, disturb: (second: number, old: Group, fresh: Group) => { unready?: boolean } | undefined) {
  const { desired } = scene
  const left = Math.max(1, desired - 1)
  const fresh: Group = { pods: Array.from({ length: left }, () => 0), leaving: [], asked: left }
  const old: Group = { pods: desired > 1 ? [0] : [], leaving: [], asked: 1 }
  let state: RolloutStatus = {
    stable: 'old',
    canary: 'new',
    step: 1,
    weight: Math.max(1, Math.floor((100 * (desired - 1)) / desired)),
    since: time(0),
  }
  const missing: number[] = []
  let second = 0
  for (; second < 40_000 && state.canary !== undefined; second++) {
    const unready = disturb(second, old, fresh)?.unready === true
    const alive = ({ leaving }: Group): number => leaving.filter((gone) => gone > second).length
    const seen = (revision: string, group: Group): RevisionSeen => {
      const ready = unready ? 0 : group.pods.filter((when) => when <= second).length
      const pods = group.pods.length + alive(group)
      const coming = group.pods.length - ready
      return { revision, replicas: group.asked, pods, ready, up: ready, coming, ...(pods < group.asked && full) }
    }
    const revisions = [seen('old', old), seen('new', fresh)]
    if (!unready) missing.push(scene.desired - revisions.reduce((sum, { ready }) => sum + ready, 0))
    const next = planRollout({
      rollout,
      target: 'old',
      desired: scene.desired,
      state,
      revisions,
      namesOf: () => ['v2'],
      figures: new Map(),
      now: at(second),
    })
    state = next.state
    for (const [revision, group] of [['old', old] as const, ['new', fresh] as const]) {
      group.asked = next.pods.get(revision) ?? 0
      // Kubernetes lets those go first that are not ready.
      group.pods.sort((a, b) => a - b)
      for (const _ of group.pods.splice(group.asked)) group.leaving.push(second + scene.drainSeconds)
    }
    const taken = (): number => old.pods.length + fresh.pods.length + alive(old) + alive(fresh)
    for (const group of [old, fresh]) {
      while (group.pods.length < group.asked && taken() < scene.room) group.pods.push(second + scene.startSeconds)
    }
  }
  return { second, worst: Math.max(...missing), old: old.asked }
}

const scenes = (secondsMax: number): fc.Arbitrary<Scene> =>
  fc
    .record({
      desired: fc.integer({ min: 1, max: 30 }),
      spare: fc.nat(3),
      startSeconds: fc.integer({ min: 1, max: secondsMax }),
      drainSeconds: fc.integer({ min: 1, max: secondsMax }),
    })
    .map(({ spare, ...scene }) => ({ ...scene, room: scene.desired + spare }))

const kinds = ['desired', 'old', 'new', 'room', 'unready'] as const
const events = fc.array(fc.record({ at: fc.nat(600), kind: fc.constantFrom(...kinds), value: fc.nat(29) }), {
  maxLength: 60,
})

/** Always the same scenes; 4,000 others of each kind were walked once. */
const runs = { numRuns: 200, seed: 20_261_121 }

describe('the way back', () => {
  it('misses a tenth of the pods or one at most where nothing else happens', () => {
    fc.assert(
      fc.property(scenes(60), (scene) => {
        const { second, worst, old } = walk(scene, () => undefined)
        expect(second).toBeLessThan(40_000)
        expect(worst).toBeLessThanOrEqual(Math.max(1, Math.floor(scene.desired / 10)))
        expect(old).toBe(scene.desired)
      }),
      runs,
    )
  })

  it('ends whatever happens in its first ten minutes', () => {
    fc.assert(
      fc.property(scenes(40), events, (quiet, happens) => {
        const scene = { ...quiet }
        const { second, old } = walk(scene, (now, stable, canary) => {
          if (now > 600) Object.assign(scene, quiet)
          const today = happens.filter((event) => event.at === now)
          for (const { kind, value } of today) {
            if (kind === 'desired') scene.desired = 1 + value
            if (kind === 'old') stable.pods.splice(value % (1 + stable.pods.length), 1)
            if (kind === 'new') canary.pods.splice(value % (1 + canary.pods.length), 1)
            if (kind === 'room') scene.room = Math.max(1, quiet.room - (value % 4))
          }
          return { unready: today.some(({ kind }) => kind === 'unready') }
        })
        expect(second).toBeLessThan(40_000)
        expect(old).toBe(scene.desired)
      }),
      runs,
    )
  })
})
