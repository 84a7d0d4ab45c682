// Revisions that an older builder made.
import { describe, expect, it } from 'vitest'
import type { Deployment } from '../kube/objects.ts'
import { revisionLabel, revisionSelector } from '../pool/labels.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { builderVersion, inputsOf, writeBuildRecord } from '../specs/build-record.ts'
import { revisionOf } from '../specs/json.ts'
import { targetRevision, templateAnnotation } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import { asked, planOf, podOf, poolOf, type Seen, settled } from './plan.fixtures.ts'
import type { Step } from './step.ts'

const builtAnnotation = 'matte.dev/built'

type HeldPool = Partial<RolloutStatus> & {
  readonly annotations?: Readonly<Record<string, string>>
  readonly observedGeneration?: number
}

/** The steps as words. */
const words = (steps: readonly Step[]): string[] =>
  steps.map((step) => (step.kind === 'record' ? `record ${step.annotations[builtAnnotation]}` : step.kind))

describe('the plan of a pool with a revision of another builder', () => {
  const former = { priorityClassName: 'former' }
  /** A pool from another builder, whose template has a field that today's builder does not write. */
  async function builtByAnother() {
    const seen = await settled({}, ['a'])
    const [today] = seen.deployments ?? []
    if (today === undefined) throw new Error('no Deployment')
    const { [templateAnnotation]: text = '', ...annotations } = today.metadata.annotations ?? {}
    const template = JSON.parse(text)
    const stored = { ...template, spec: { ...template.spec, ...former } }
    const revision = revisionOf(stored)
    const labels = { ...today.metadata.labels, [revisionLabel]: revision }
    const built = writeBuildRecord({ builder: 1, inputs: inputsOf(seen.pool) })
    const live: Deployment = {
      ...today,
      metadata: {
        ...today.metadata,
        name: `p-${revision}`,
        labels,
        annotations: { ...annotations, ...built, [templateAnnotation]: JSON.stringify(stored) },
      },
      spec: {
        ...today.spec,
        selector: { matchLabels: revisionSelector('p', revision) },
        template: { ...stored, metadata: { ...stored.metadata, labels: { ...stored.metadata.labels, ...labels } } },
      },
    }
    const rollout = { stable: revision, weight: 0, step: -1, since: '2026-11-21T11:00:00Z' }
    const world = (deployment: Deployment): Seen & { pool: TritonPool } => ({
      ...seen,
      pool: { ...seen.pool, status: { ...seen.pool.status, observedGeneration: 1, rollout, revisions: [] } },
      deployments: [deployment],
      services: [asked(buildTritonService(seen.pool, revision))],
      pods: [podOf(seen.pool, 'a', { labels })],
    })
    return { live, revision, world }
  }
  const without = (live: Deployment, ...names: string[]): Deployment => {
    const kept = Object.entries(live.metadata.annotations ?? {}).filter(([name]) => !names.includes(name))
    return { ...live, metadata: { ...live.metadata, annotations: Object.fromEntries(kept) } }
  }

  it('keeps it and its pods, and reports that a newer builder exists', async () => {
    const { live, revision, world } = await builtByAnother()
    const plan = await planOf(world(live))
    expect(words(plan.steps)).toEqual(['status'])
    expect(plan.status.rollout).toMatchObject({ stable: revision })
    expect(plan.status.rollout.canary).toBeUndefined()
    expect(plan.status.revisions).toMatchObject([{ revision, builder: 1 }])
    expect(plan.status.newestBuilder).toBe(builderVersion)
  })

  it('restores the stored template', async () => {
    const { live, world } = await builtByAnother()
    const { template } = live.spec
    const edited = { ...live, spec: { ...live.spec, template: { ...template, spec: { containers: [] } } } }
    const plan = await planOf(world(edited))
    const restored = plan.steps.find((step) => step.kind === 'restore')
    expect(restored?.object).toMatchObject({ spec: { template: { spec: former } } })
  })

  it('adopts one without a record, and does not change its template', async () => {
    const { live, revision, world } = await builtByAnother()
    const bare = without(live, builtAnnotation, templateAnnotation)
    const { [builtAnnotation]: built } = writeBuildRecord({ builder: 1, inputs: inputsOf(world(bare).pool) })
    const plan = await planOf(world(bare))
    expect(words(plan.steps)).toEqual([`record ${built}`, 'status'])
    expect(plan.status.rollout).toMatchObject({ stable: revision })
    const edited = { ...bare, spec: { ...bare.spec, template: { ...bare.spec.template, spec: { containers: [] } } } }
    expect(words((await planOf(world(edited))).steps)).toEqual([`record ${built}`, 'status'])
  })

  describe('without a record, while its rollout to a new spec is held', () => {
    const failed = {
      revision: 'bad00000',
      reason: 'CanaryErrorRate',
      message: 'no',
      time: '2026-11-21T11:30:00Z',
    } as const
    const retry = { 'matte.dev/retry': '2026-11-21T11:45:00Z' }
    const queued = 'CONCURRENT_ROLLOUTS allows 2'
    async function bareWithNewSpec({ annotations = {}, observedGeneration = 1, ...more }: HeldPool) {
      const { live, revision, world } = await builtByAnother()
      const seen = world(without(live, builtAnnotation, templateAnnotation))
      const { spec } = poolOf({ image: 'nvcr.io/nvidia/tritonserver:99.99-py3' })
      const rollout = { stable: revision, weight: 0, step: -1, since: '2026-11-21T11:00:00Z', ...more }
      const metadata = { ...seen.pool.metadata, generation: 2, annotations }
      const pool = { ...seen.pool, metadata, spec, status: { ...seen.pool.status, observedGeneration, rollout } }
      return { seen: { ...seen, pool }, revision, today: targetRevision(pool) }
    }

    it.each<[string, HeldPool, string | undefined]>([
      ['it waits for its turn', {}, queued],
      ['its owner has paused it', { annotations: { 'matte.dev/pause': 'true' } }, undefined],
      ['it waits after another canary', { canary: '0ldbu1ld', observedGeneration: 2 }, queued],
      ['it waits after a rollback', { failed }, queued],
      ['it waits for a retry', { failed, annotations: retry, observedGeneration: 2 }, queued],
    ])('is not adopted for the new spec, even if its record is refused: %s', async (_what, held, turn) => {
      const { seen, revision, today } = await bareWithNewSpec(held)
      const first = await planOf(seen, undefined, turn)
      expect(first.rollout.held).toBeDefined()
      expect(words(first.steps)).toEqual(['record {"builder":1,"inputs":""}', 'status'])
      expect(first.status.observedGeneration).toBe(2)
      const metadata = { ...seen.pool.metadata, annotations: held.failed && held.annotations ? retry : {} }
      const second = await planOf({ ...seen, pool: { ...seen.pool, metadata, status: first.status } })
      expect(second.status.rollout).toMatchObject({ stable: revision, canary: today })
    })
  })

  it('keeps one without a record when a paused rebuild is withdrawn', async () => {
    const { live, revision, world } = await builtByAnother()
    const seen = world(without(live, builtAnnotation, templateAnnotation))
    const annotations = { 'matte.dev/rebuild': '2026-11-21T12:00:00Z', 'matte.dev/pause': 'true' }
    const asked = { ...seen.pool, metadata: { ...seen.pool.metadata, annotations } }
    const paused = await planOf({ ...seen, pool: asked })
    expect(paused.rollout.held?.reason).toBe('RolloutPaused')
    const withdrawn = await planOf({ ...seen, pool: { ...seen.pool, status: paused.status } })
    expect(withdrawn.status.rollout).toMatchObject({ stable: revision })
    expect(withdrawn.status.rollout.canary).toBeUndefined()
  })

  it('does not retry a rolled-back revision when its Deployment is gone and bounds change', async () => {
    const { live, revision, world } = await builtByAnother()
    const seen = world(without(live, builtAnnotation, templateAnnotation))
    const failed = {
      revision: 'bad00000',
      reason: 'CanaryErrorRate',
      message: 'no',
      time: '2026-11-21T11:30:00Z',
    } as const
    const rollout = { stable: revision, weight: 0, step: -1, since: '2026-11-21T11:00:00Z', failed }
    const first = await planOf({ ...seen, pool: { ...seen.pool, status: { ...seen.pool.status, rollout } } })
    expect(first.status.rollout).toMatchObject({ stable: revision, failed })
    const metadata = { ...seen.pool.metadata, generation: 2 }
    const second = await planOf({ ...seen, pool: { ...seen.pool, metadata, status: first.status } })
    expect(second.status.rollout).toMatchObject({ stable: revision, failed })
    expect(second.status.rollout.canary).toBeUndefined()
  })

  it('ignores a stored template with another hash', async () => {
    const { live, world } = await builtByAnother()
    const annotations = { ...live.metadata.annotations, [templateAnnotation]: '{"spec":{"hostNetwork":true}}' }
    const plan = await planOf(world({ ...live, metadata: { ...live.metadata, annotations } }))
    expect(words(plan.steps)).toEqual(['status'])
  })

  it('starts today’s build as a canary when the annotation asks for it', async () => {
    const { live, world } = await builtByAnother()
    const seen = world(live)
    const annotations = { 'matte.dev/rebuild': '2026-11-21T12:00:00Z' }
    const pool = { ...seen.pool, metadata: { ...seen.pool.metadata, annotations } }
    const plan = await planOf({ ...seen, pool })
    expect(plan.status.rollout.canary).toBe(targetRevision(seen.pool))
    expect(plan.status.revisions?.at(-1)).toMatchObject({
      builder: builderVersion,
      rebuild: '2026-11-21T12:00:00Z',
    })
  })

  it('records a rebuild without a change, and keeps the pods', async () => {
    const seen = await settled({}, ['a'])
    const annotations = { 'matte.dev/rebuild': '2026-11-21T12:00:00Z' }
    const plan = await planOf({ ...seen, pool: { ...seen.pool, metadata: { ...seen.pool.metadata, annotations } } })
    expect(plan.status.rollout.canary).toBeUndefined()
    expect(plan.steps.filter(({ kind }) => kind === 'record')).toHaveLength(1)
  })
})
