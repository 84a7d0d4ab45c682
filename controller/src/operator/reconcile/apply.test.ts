import { parseLicencePolicy } from '@matte/core/model/licence-policy'
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { KubeError } from '../kube/client.ts'
import type { Deployment, KubeObject, Pod, PodDisruptionBudget, Service } from '../kube/objects.ts'
import type { PodPatchPolicy } from '../pool/spec/pod-patch.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { type ApplyDeps, apply } from './apply.ts'
import type { Observed } from './gather.ts'
import { noRecords } from './plan.fixtures.ts'
import type { PoolPlan } from './plan.ts'
import { newMemory, type PoolMemory } from './pool-memory.ts'
import type { Step } from './step.ts'

const pool = {
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name: 'p' },
  spec: { models: [] as unknown },
} as TritonPool
const labels = { 'matte.dev/pool': 'p', 'matte.dev/revision': 'aaaaaaaa' }
const object = <T extends KubeObject>(kind: string): T =>
  ({
    kind,
    metadata: { name: `p-${kind}`, labels, uid: kind, resourceVersion: '1' },
    spec: { replicas: 1 },
  }) as unknown as T

const service = object<Service>('Service')
const deployment = object<Deployment>('Deployment')
const pod = object<Pod>('Pod')

const steps = {
  create: { kind: 'create', object: service },
  createDeployment: { kind: 'create', object: deployment },
  createBudget: { kind: 'create', object: object<PodDisruptionBudget>('PodDisruptionBudget') },
  restore: { kind: 'restore', object: service, live: service },
  annotate: { kind: 'annotate', changes: [{ pod, annotations: {} }] },
  up: { kind: 'scale', deployment, from: 1, to: 2 },
  down: { kind: 'scale', deployment, from: 2, to: 1 },
  delete: { kind: 'delete', object: service },
  status: { kind: 'status', status: {} as never, events: [] },
} satisfies Record<string, Step>

describe('a refused step', () => {
  let memory: PoolMemory
  let calls: string[]
  let podPatch: PodPatchPolicy
  /** Status codes of refused calls. */
  let refused: Map<string, number>
  /** Duration of each call in milliseconds. */
  let slow: Map<string, number>
  /** Present term of the Lease. */
  let term: number
  let clockMs: number
  let written: unknown[]
  beforeEach(() => {
    written = []
    memory = newMemory(pool)
    calls = []
    podPatch = { form: 'restricted', serviceAccounts: [], priorityClasses: [] }
    Object.assign(pool.spec, { models: [] })
    refused = new Map()
    slow = new Map()
    term = 1
  })

  const carryOut = (kinds: readonly (keyof typeof steps)[], nowMs = 0, all: Readonly<Record<string, Step>> = steps) => {
    clockMs = nowMs
    const call =
      (verb: string) =>
      async (resource: { kind: string }, named: KubeObject | string, more?: { subresource?: string }) => {
        const { subresource = '' } = (verb === 'apply' && more) || ({} as { subresource?: string })
        const words = [verb, subresource || resource.kind].join(' ')
        calls.push(words)
        clockMs += slow.get(words) ?? 0
        const status = refused.get(words)
        const reason = status === 0 || status === 504 ? 'Timeout' : 'Refused'
        if (status !== undefined) throw new KubeError(status, reason, `${words} is refused`)
        written.push(named)
        // The API server names one field of an item at a time.
        const [undeclared] = /undeclared\d/.exec(JSON.stringify(named)) ?? []
        if (undeclared !== undefined) {
          throw new KubeError(500, 'Http500', `.status.${undeclared}: field not declared in schema`)
        }
        return typeof named === 'string' ? object(resource.kind) : named
      }
    const index = { get: () => undefined, of: () => [], recordWrite: () => undefined, recordGone: () => undefined }
    const deps = {
      kube: {
        get: async () => pool,
        create: call('create'),
        apply: call('apply'),
        mergePatch: call('patch'),
        delete: call('delete'),
      },
      leadership: { confirm: async () => ({ term }) },
      world: {
        clock: { monotonicMs: () => clockMs },
        pools: index,
        deployments: index,
        services: index,
        budgets: index,
        pods: index,
      },
      events: { record: () => undefined },
      metrics: { decisionDelay: { observe: () => undefined }, count: () => undefined },
      records: noRecords,
      podPatch,
      licences: parseLicencePolicy('MIT'),
      logger: pino({ level: 'silent' }),
    } as unknown as ApplyDeps // these steps use nothing else
    const plan = {
      steps: kinds.map((kind) => all[kind]),
      decision: { replicas: 0, memory: undefined },
      from: 0,
      rollout: {},
    } as unknown as PoolPlan
    const observed = { pool, reading: undefined, nowMs } as unknown as Observed
    calls = []
    const context = { memory, term: { count: 1, lease: 'l' }, signal: new AbortController().signal }
    return apply(deps, observed, plan, context)
  }

  it('of a status with undeclared fields is retried with the declared ones', async () => {
    Object.assign(steps.status.status, { undeclared1: 1, undeclared2: 2, desiredReplicas: 2 })
    await carryOut(['status'])
    expect(written).toHaveLength(3)
    expect(written[2]).toMatchObject({ status: { desiredReplicas: 2 } })
    expect(JSON.stringify(written[2])).not.toContain('undeclared')
    expect(memory.definitionIsOlder).toBe(true)
    for (const field of ['undeclared1', 'undeclared2']) Reflect.deleteProperty(steps.status.status, field)
  })

  it.each([
    ['create', 'create Service'],
    ['restore', 'apply Service'],
    ['annotate', 'patch Pod'],
    ['up', 'apply scale'],
    ['delete', 'delete Service'],
  ] as const)('to %s is reported, does not block the pass, and is retried later', async (kind, call) => {
    for (const status of [400, 403, 422, 0, 504]) {
      refused.set(call, status)
      memory = newMemory(pool)
      await carryOut([kind, 'status'])
      expect(calls).toEqual([call, 'apply status'])
      const recorded = [...memory.refusals.values(), ...memory.refusedChanges.values()]
      expect(recorded).toMatchObject([{ revision: 'aaaaaaaa', message: `${call} is refused` }])
      await carryOut([kind, 'status'], 9_999)
      expect(calls).toEqual(['apply status'])
    }
    refused.clear()
    await carryOut([kind, 'status'], 10_000)
    expect(calls).toEqual([call, 'apply status'])
    expect([memory.refusals.size, memory.refusedChanges.size]).toEqual([0, 0])
  })

  it('counts as a refusal of pods for a Deployment, blocks for a Service, not for a budget', async () => {
    for (const kind of ['Deployment', 'Service', 'PodDisruptionBudget']) refused.set(`create ${kind}`, 403)
    await carryOut(['createDeployment', 'create', 'createBudget'])
    expect([...memory.refusals.values()]).toMatchObject([{ message: 'create Deployment is refused' }])
    expect([...memory.refusedChanges.values()]).toMatchObject([
      { what: 'create Service p-Service', blocking: true },
      { what: 'create PodDisruptionBudget p-PodDisruptionBudget', blocking: false },
    ])
  })

  it('counts as a refusal of pods if this install refuses them, and does not occur if it allows all', async () => {
    deployment.spec.template = { metadata: {}, spec: { hostNetwork: true, containers: [] } }
    await carryOut(['createDeployment', 'status'])
    expect([...memory.refusals.values()]).toMatchObject([
      { reason: 'PodPatchRefused', message: expect.stringContaining('spec.hostNetwork') },
    ])
    expect(calls).toEqual(['apply status'])
    podPatch = { form: 'any', serviceAccounts: [], priorityClasses: [] }
    await carryOut(['createDeployment', 'status'], 10_000)
    expect(memory.refusals.size).toBe(0)
    expect(calls).toEqual(['create Deployment', 'apply status'])
  })

  it('refuses pods with a service account or PriorityClass until the install lists it', async () => {
    const names = { serviceAccountName: 'models-reader', priorityClassName: 'serving' }
    const spec = { ...names, automountServiceAccountToken: false, hostNetwork: true }
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
    deployment.spec.template = { metadata: {}, spec: { ...spec, securityContext, containers: [] } }
    await carryOut(['createDeployment', 'status'])
    expect([...memory.refusals.values()]).toMatchObject([
      {
        reason: 'PodPatchRefused',
        message:
          'podPatch sets spec.hostNetwork; the service account "models-reader" is not allowed: add it to ' +
          'operator.podServiceAccounts; the PriorityClass "serving" is not allowed: add it to ' +
          'operator.podPriorityClasses',
      },
    ])
    podPatch = { form: 'restricted', serviceAccounts: ['models-reader'], priorityClasses: ['serving'] }
    deployment.spec.template.spec = { ...spec, hostNetwork: false, securityContext, containers: [] }
    await carryOut(['createDeployment', 'status'], 10_000)
    expect(memory.refusals.size).toBe(0)
    expect(calls).toEqual(['create Deployment', 'apply status'])
    podPatch = { form: 'restricted', serviceAccounts: [], priorityClasses: [] }
    await carryOut(['up', 'createDeployment', 'status'], 20_000)
    expect(calls).toEqual(['apply scale', 'apply status'])
  })

  it('refuses pods with a licence that is not allowed', async () => {
    const models = [{ name: 'free', licence: 'MIT' }, { name: 'unknown' }, { name: 'bound', licence: 'GPL-3.0-only' }]
    Object.assign(pool.spec, { models })
    await carryOut(['createDeployment', 'status'])
    expect([...memory.refusals.values()]).toMatchObject([
      { reason: 'LicenceRefused', message: expect.stringContaining('model bound is licensed under GPL-3.0-only') },
    ])
    expect(calls).toEqual(['apply status'])
  })

  it('is forgotten once the step is no longer planned', async () => {
    refused.set('apply Service', 422)
    await carryOut(['restore'])
    await carryOut(['status'], 1_000)
    expect(memory.refusedChanges.size).toBe(0)
  })

  it('to annotate pods prevents lowering their number', async () => {
    refused.set('patch Pod', 403)
    await carryOut(['annotate', 'down', 'status'])
    await carryOut(['annotate', 'down', 'status'], 5_000)
    expect(calls).toEqual(['apply status'])
    await carryOut(['up', 'status'], 5_000)
    expect(calls).toEqual(['apply scale', 'apply status'])
  })

  it('is retried later, counted from the time of the refusal', async () => {
    refused.set('apply Service', 0)
    slow.set('apply Service', 35_000)
    await carryOut(['restore', 'status'])
    expect(calls).toEqual(['apply Service', 'apply status'])
    expect([...memory.refusedChanges.values()]).toMatchObject([{ what: 'update Service p-Service', timedOut: true }])
    await carryOut(['restore', 'status'], 44_999)
    expect(calls).toEqual(['apply status'])
    await carryOut(['restore', 'status'], 45_000)
    expect(calls).toEqual(['apply Service', 'apply status'])
  })

  it('is followed only by the status if it was slow; the next pass has the other steps', async () => {
    slow.set('apply Service', 10_000)
    refused.set('apply Service', 0)
    await carryOut(['restore', 'up', 'delete', 'status'])
    expect(calls).toEqual(['apply Service', 'apply status'])
    await carryOut(['restore', 'up', 'delete', 'status'], 11_000)
    expect(calls).toEqual(['apply scale', 'delete Service', 'apply status'])
  })

  it('leaves unannotated pods, and their number, to the next pass', async () => {
    slow.set('patch Pod', 4_000)
    const changes = Array.from({ length: 20 }, () => ({ pod, annotations: {} }))
    const many = { ...steps, annotate: { kind: 'annotate', changes } satisfies Step }
    await carryOut(['annotate', 'down', 'status'], 0, many)
    expect(calls).toEqual([...Array.from({ length: 3 }, () => 'patch Pod'), 'apply status'])
  })

  it('is not tried in a later term', async () => {
    term = 2
    await expect(carryOut(['up', 'status'])).rejects.toThrow('term 1 has ended')
    expect(calls).toEqual([])
  })

  it('is no refusal if it is a conflict or concerns the status', async () => {
    refused.set('apply Service', 409)
    await expect(carryOut(['restore', 'status'])).rejects.toMatchObject({ status: 409 })
    refused.set('apply status', 422)
    await expect(carryOut(['status'])).rejects.toMatchObject({ status: 422 })
  })
})
