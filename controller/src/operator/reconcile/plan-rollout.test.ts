// Rollouts in the plan of a pool: clocks, unread demand, and pods without room.
import { describe, expect, it } from 'vitest'
import type { Pod } from '../kube/objects.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { targetRevision } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import { asked, deploymentOf, now, planOf, podOf, poolOf, type Seen } from './plan.fixtures.ts'
import { newMemory } from './pool-memory.ts'

const since = new Date(now).toISOString().replace('.000', '')
const scaling = { minReplicas: 1, maxReplicas: 1 }
const before = poolOf({ scaling })
const gate = { minRequests: 0 }
const next = poolOf({ scaling, rollout: { gate, steps: [{ weight: 50 }] }, image: 'registry.example.com/next:1' })
const stable = targetRevision(before)
const canary = targetRevision(next)

/** Passes over a pool that tries a revision; each has its clocks, in seconds. */
function passes(rollout: Partial<RolloutStatus>, fresh: Pod) {
  const started: RolloutStatus = { stable, canary, weight: 0, step: -1, since, ...rollout }
  const memory = newMemory(next)
  const seen: Seen = {
    pool: { ...next, status: { desiredReplicas: 1, rollout: started } },
    deployments: [deploymentOf(before, 1), deploymentOf(next, 1)],
    services: [before, next].map((pool) => asked(buildTritonService(pool, targetRevision(pool)))),
    pods: [podOf(before, 'a'), fresh],
  }
  return async (wallSeconds: number, monotonicSeconds: number) => {
    const clock = { nowMs: () => now + wallSeconds * 1_000, monotonicMs: () => 1_000 + monotonicSeconds * 1_000 }
    return (await planOf({ ...seen, clock }, memory)).rollout
  }
}

describe('a wall clock that jumps', () => {
  it('neither causes nor delays a rollback', async () => {
    const pass = passes({}, podOf(next, 'b', {}, false))
    expect((await pass(0, 0)).state.failed).toBeUndefined()
    expect((await pass(90_000, 600)).state.failed).toBeUndefined()
    expect((await pass(-90_000, 601)).state.failed).toMatchObject({ reason: 'CanaryNotReady' })
  })

  it('promotes nothing', async () => {
    const pass = passes({ step: 0, weight: 50, weightReached: true }, podOf(next, 'b'))
    expect((await pass(0, 0)).state).toMatchObject({ step: 0 })
    expect((await pass(90_000, 10)).state).toMatchObject({ step: 0, since })
  })
})

it('pauses a step while the demand cannot be read', async () => {
  const pass = passes({ step: 0, weight: 50, weightReached: true }, podOf(next, 'b'))
  await pass(0, 0)
  expect((await pass(61, 61)).state).toMatchObject({ step: 0, waiting: { for: 'Demand' } })
})

it('does not blame a revision for a pod without a node', async () => {
  const pending = podOf(next, 'b', {}, false)
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no GPU' }
  const unplaced = { ...pending, status: { phase: 'Pending', conditions: [condition] } } as Pod
  const waits = passes({}, unplaced)
  await waits(0, 0)
  expect((await waits(700, 700)).state).toMatchObject({ canary, waiting: { for: 'Room' } })
})
