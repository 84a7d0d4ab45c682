import { describe, expect, it } from 'vitest'
import { deletionCostAnnotation, leaderTermAnnotation } from '../pool/labels.ts'
import { buildDisruptionBudget } from '../specs/disruption-budget.ts'
import { targetRevision } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import { asked, deploymentOf, now, planOf, podOf, poolOf, type Seen, settled, token } from './plan.fixtures.ts'
import { restorationOf } from './plan-steps.ts'
import { newMemory } from './pool-memory.ts'
import type { PodAnnotations, Step } from './step.ts'

/** The steps as words. */
const words = (steps: readonly Step[]): string[] =>
  steps.map((step) => {
    if (step.kind === 'create' || step.kind === 'delete') return `${step.kind} ${step.object.kind}`
    if (step.kind === 'restore') return `restore ${step.object.kind}`
    if (step.kind === 'annotate') return `annotate ${step.changes.map(describeChange).join(', ')}`
    if (step.kind === 'scale') return `scale ${step.from} to ${step.to}`
    return 'status'
  })

const describeChange = ({ pod, annotations }: PodAnnotations): string => {
  const cost = annotations[deletionCostAnnotation]
  const isFenced = annotations[leaderTermAnnotation] === token
  const name = isFenced ? pod.metadata.name : `${pod.metadata.name} unfenced`
  return cost === undefined ? name : `${name} ${cost}`
}

describe('the plan of a pool', () => {
  it('writes the first status, and creates all objects without pods', async () => {
    const plan = await planOf({ pool: poolOf() })
    expect(words(plan.steps)).toEqual(['status', 'create Service', 'create Deployment', 'create PodDisruptionBudget'])
    const made = plan.steps.find((step) => step.kind === 'create' && step.object.kind === 'Deployment')
    expect(made).toMatchObject({
      object: { spec: { replicas: 0 }, metadata: { annotations: { [leaderTermAnnotation]: token } } },
    })
  })

  it('does nothing while nothing changes', async () => {
    const seen = await settled({}, ['a'])
    expect(words((await planOf(seen)).steps)).toEqual(['status'])
    const plan = await planOf({ ...seen, demand: {} })
    expect(plan.from).toBe(plan.decision.replicas)
  })

  it('scales up, then reports it, as one decision', async () => {
    const seen = await settled({}, ['a'])
    const plan = await planOf({ ...seen, demand: { backlog: 50, arrivals3s: 12, arrivals30s: 60, oldestSeconds: 1 } })
    const { replicas, sentence, rule } = plan.decision
    expect(replicas).toBeGreaterThan(1)
    expect(words(plan.steps)).toEqual([`scale 1 to ${replicas}`, 'status'])
    const [, reported] = plan.steps
    expect(reported).toMatchObject({
      status: { desiredReplicas: replicas },
      events: [{ type: 'Normal', reason: 'ScaledUp', message: `1 → ${replicas}: ${sentence}` }],
    })
    expect(plan.status.scalingHistory.at(-1)).toMatchObject({ from: 1, to: replicas, rule, sentence })
  })

  it('ignores the single slot of a pod on probation', async () => {
    const seen = await settled({}, ['a'])
    const { status } = await planOf({ ...seen, slots: { podSlots: 8 } })
    const pool = { ...seen.pool, status }
    const after = await planOf({ ...seen, pool, slots: { podSlots: 1, onProbation: true } })
    expect(after.status.slotsPerPod).toBe(8)
  })

  it('annotates the idle pod before it lowers the number', async () => {
    const seen = await settled({ replicas: 1, scaling: { owner: 'external' } }, ['busy-1', 'idle', 'busy-2'])
    const pool = { ...seen.pool, spec: { ...seen.pool.spec, replicas: 2 } }
    expect(words((await planOf({ ...seen, pool })).steps).slice(0, 2)).toEqual([
      'annotate busy-1, idle -1, busy-2',
      'scale 3 to 2',
    ])
  })

  it('fences remaining pods once in a term, so a former leader annotates none of them', async () => {
    const names = ['busy-1', 'idle', 'busy-2']
    const seen = await settled({ replicas: 1, scaling: { owner: 'external' } }, names)
    const pool = { ...seen.pool, spec: { ...seen.pool.spec, replicas: 2 } }
    const stepsWith = async (annotations: Record<string, string>) => {
      const pods = names.map((name) => podOf(seen.pool, name, { annotations }))
      return words((await planOf({ ...seen, pool, pods })).steps).slice(0, 2)
    }
    expect(await stepsWith({ [leaderTermAnnotation]: token })).toEqual(['annotate idle -1', 'scale 3 to 2'])
    const again = ['annotate busy-1, idle -1, busy-2', 'scale 3 to 2']
    expect(await stepsWith({ [leaderTermAnnotation]: '3/lease-uid' })).toEqual(again)
    // The Lease was recreated and has reached the same term.
    expect(await stepsWith({ [leaderTermAnnotation]: '4/former-lease' })).toEqual(again)
  })

  it('removes 32 pods at a time, and all at once if none stays', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `p${index}`)
    const seen = await settled({ replicas: 1, scaling: { owner: 'external' } }, names)
    const few = await planOf({ ...seen, pool: { ...seen.pool, spec: { ...seen.pool.spec, replicas: 10 } } })
    const [changes = ''] = words(few.steps)
    expect(changes.split(', ')).toHaveLength(100)
    expect(changes.split(', ').filter((word) => word.endsWith(' -1'))).toHaveLength(32)
    expect(words(few.steps)).toContain('scale 100 to 68')
    const none = await planOf({ ...seen, pool: { ...seen.pool, spec: { ...seen.pool.spec, replicas: 0 } } })
    expect(words(none.steps)[0]).toBe('scale 100 to 0')
  })

  it('writes the state of a rollout before it acts on it', async () => {
    const seen = await settled({}, ['a'])
    const changed = poolOf({ image: 'triton:next' }, seen.pool.status)
    const plan = await planOf({ ...seen, pool: changed })
    expect(words(plan.steps)).toEqual([
      'status',
      'create Service',
      'create Deployment',
      'restore PodDisruptionBudget', // it excludes pods that were never ready
    ])
    const budget = plan.steps.find((step) => step.kind === 'restore')
    expect(budget?.object.spec).toMatchObject({
      selector: { matchExpressions: [{ operator: 'NotIn', values: [targetRevision(changed)] }] },
    })
    expect(plan.status.rollout).toMatchObject({ stable: targetRevision(seen.pool), canary: targetRevision(changed) })
  })

  it('restores an object once per desired state, not once per version', async () => {
    const seen = await settled({}, ['a'])
    const tried = asked(buildDisruptionBudget(seen.pool, 'former01'))
    const memory = newMemory(seen.pool)
    const restores = async () =>
      (await planOf({ ...seen, budget: tried }, memory)).steps.filter((step) => step.kind === 'restore')
    // Written during a rollout, when it excluded the new revision.
    memory.restored.set(`PodDisruptionBudget p`, restorationOf(tried, tried))
    const [step] = await restores()
    expect(step?.object.spec).toMatchObject({ selector: { matchExpressions: [{ operator: 'Exists' }] } })
    // A remaining difference is left alone.
    if (step) memory.restored.set(`PodDisruptionBudget p`, restorationOf(tried, step.object))
    expect(await restores()).toEqual([])
  })

  it('never changes the template of a revision that is not the target', async () => {
    const seen = await settled({}, ['a'])
    const [old] = seen.deployments ?? []
    if (old === undefined) throw new Error('no Deployment')
    const edited = { ...old, spec: { ...old.spec, template: { ...old.spec.template, spec: { containers: [] } } } }
    const own = await planOf({ ...seen, deployments: [edited] })
    expect(words(own.steps)).toContain('restore Deployment')
    const other = await planOf({
      ...seen,
      pool: poolOf({ image: 'triton:next' }, seen.pool.status),
      deployments: [edited],
    })
    expect(words(other.steps)).not.toContain('restore Deployment')
  })

  it('removes a replaced revision after its last pod, and its Service after that', async () => {
    const seen = await settled({}, ['a'])
    const former = poolOf({ image: 'triton:former' })
    const service = asked(buildTritonService(former, targetRevision(former)))
    const withOld = {
      ...seen,
      deployments: [...(seen.deployments ?? []), deploymentOf(former, 0)],
      services: [...(seen.services ?? []), service],
    }
    const going = podOf(former, 'old', { deletionTimestamp: '2026-11-21T12:00:00Z' })
    const deletes = async (what: Seen) => words((await planOf(what)).steps).filter((word) => word.startsWith('delete'))
    expect(await deletes({ ...withOld, pods: [...(seen.pods ?? []), going] })).toEqual([])
    expect(await deletes(withOld)).toEqual(['delete Deployment'])
    // The pods of an unresponsive node stay Terminating and are not waited for.
    const since = (seconds: number) => new Date(now - seconds * 1_000).toISOString()
    const stuck = (seconds: number) => [
      ...(seen.pods ?? []),
      podOf(former, 'old', { deletionTimestamp: since(seconds) }),
    ]
    expect(await deletes({ ...withOld, pods: stuck(30) })).toEqual([])
    expect(await deletes({ ...withOld, pods: stuck(31) })).toEqual(['delete Deployment'])
    expect(await deletes({ ...withOld, deployments: seen.deployments ?? [] })).toEqual(['delete Service'])
  })

  it('does not change objects of a deleted pool with the same name', async () => {
    const former = { ...poolOf(), metadata: { ...poolOf().metadata, uid: 'former' } }
    const seen = { pool: poolOf(), deployments: [deploymentOf(former, 1)], pods: [podOf(former, 'a')] }
    const plan = await planOf({ ...seen, services: [asked(buildTritonService(former, targetRevision(former)))] })
    expect(words(plan.steps)).toEqual(['status', 'create Service', 'create Deployment', 'create PodDisruptionBudget'])
    expect(plan.status.rollout.canary).toBeUndefined()
  })

  it('keeps running pods after its status was lost', async () => {
    const seen = await settled({ scaling: { minReplicas: 0 } }, ['a', 'b', 'c'])
    const plan = await planOf({ ...seen, pool: poolOf({ scaling: { minReplicas: 0 } }) })
    expect(plan.decision.replicas).toBe(3)
  })
})
