import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import type { KubeError } from '@matte/controller/operator/kube/client'
import type { LoadedConfig } from '@matte/controller/operator/kube/cluster-access'
import { buildCrd, printerColumns, type Schema } from '@matte/controller/operator/pool/crd'
import type { PoolStatus } from '@matte/controller/operator/pool/pool-status'
import { shouldWrite } from '@matte/controller/operator/pool/status/status'
import { canary, pod as podOf, status as statusOf } from '@matte/controller/operator/pool/status/status.fixtures'
import {
  type PoolSpecInput,
  type TritonPool,
  tritonPools,
  withDefaults,
} from '@matte/controller/operator/pool/triton-pool'
import { rootDir } from '@matte/local/paths'
import { beforeAll, describe, expect, it } from 'vitest'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { readYamlBlocks } from '../support/yaml-blocks.ts'

const model = { name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }
const minimal: PoolSpecInput = { models: [model] }
const two = [model, { ...model, name: 'other', modelVersion: 'other' }]
const night = { name: 'night', timeZone: 'Europe/Berlin', start: '0 20 * * *', end: '0 8 * * *', maxReplicas: 1 }
const s3 = (secretName?: string) => ({ s3: { prefix: 's3://models/all', ...(secretName && { secretName }) } })
const external = { owner: 'external' } as const

const rollout = { canary, weight: 10, step: 0, since: '2026-11-21T07:59:00Z' }
const failed = {
  revision: canary,
  reason: 'CanaryErrorRate',
  message: '9 of 52',
  time: '2026-11-21T07:59:00Z',
} as const
const waiting = { reason: 'ImagePullBackOff', message: 'not found' }
const statuses = [
  { name: 'serving', status: statusOf() },
  { name: 'a-canary', status: statusOf({ rollout }) },
  { name: 'rolled-back', status: statusOf({ rollout: { failed } }) },
  { name: 'image-missing', status: statusOf({ pods: [podOf('pod-1', { ready: false, waiting })] }) },
]

/** Invalid changes of spec, each with a part of the advice in the message. */
const refused: readonly (readonly [string, object, string])[] = [
  ['a minimum above its maximum', { scaling: { minReplicas: 11 } }, 'lower minReplicas or raise maxReplicas'],
  ['a fallback above the maximum', { scaling: { fallback: { replicas: 11 } } }, 'lower it or raise maxReplicas'],
  [
    'a schedule whose minimum is above its maximum',
    { scaling: { schedules: [{ ...night, minReplicas: 2 }] } },
    'set both in the schedule',
  ],
  [
    'a schedule whose minimum is above the maximum of the pool',
    {
      scaling: {
        schedules: [{ name: 'day', timeZone: 'UTC', start: '0 8 * * *', end: '0 20 * * *', minReplicas: 11 }],
      },
    },
    'set both in the schedule',
  ],
  [
    'a schedule that changes nothing',
    { scaling: { schedules: [{ name: 'day', timeZone: 'UTC', start: '0 8 * * *', end: '0 20 * * *' }] } },
    'set one of them or remove it',
  ],
  [
    'a start that is not a cron pattern',
    { scaling: { schedules: [{ ...night, start: '8 o’clock' }] } },
    'write five cron fields, minute hour day month weekday',
  ],
  ['a pattern of six fields', { scaling: { schedules: [{ ...night, end: '0 0 8 * * *' }] } }, 'write five cron fields'],
  [
    'an empty time zone',
    { scaling: { schedules: [{ ...night, timeZone: '' }] } },
    'timeZone in body should be at least 1',
  ],
  [
    'an external owner beside scaling of Matte',
    { replicas: 1, scaling: { ...external, minReplicas: 2 } },
    'or set owner to matte',
  ],
  [
    'an external owner beside a stabilization window',
    { replicas: 1, scaling: { ...external, stabilizationWindowSeconds: 60 } },
    'or set owner to matte',
  ],
  ['an external owner without replicas', { scaling: external }, 'set spec.replicas'],
  ['replicas without an external owner', { replicas: 2 }, 'or set scaling.owner to external'],
  ['a grace time as long as the drain', { drain: { graceSeconds: 40 } }, 'raise graceSeconds'],
  ['a model without a source', { models: [{ ...model, source: {} }] }, 'set one of imagePath'],
  [
    'a model with two sources',
    { models: [{ ...model, source: { imagePath: '/models', ...s3() } }] },
    'a model has exactly one source',
  ],
  [
    'a path out of its folder',
    { models: [{ ...model, source: { imagePath: '/models/../etc' } }] },
    'write it from its root',
  ],
  [
    'two default models',
    { models: two.map((one) => ({ ...one, default: true })) },
    'set `default: true` on one model only',
  ],
  ['two models with one name', { models: [model, { ...model, modelVersion: 'other' }] }, 'Duplicate value'],
  ['two models with one modelVersion', { models: [model, { ...model, name: 'other' }] }, 'give each model its own'],
  [
    'two Secrets for S3',
    { models: two.map((one, index) => ({ ...one, source: s3(index ? 'b' : undefined) })) },
    'set the same secretName in all',
  ],
  ['no models', { models: [] }, 'should have at least 1 items'],
  [
    'weights that do not ascend',
    { rollout: { steps: [{ weight: 50 }, { weight: 10 }] } },
    'must ascend without duplicates',
  ],
  ['one weight twice', { rollout: { steps: [{ weight: 10 }, { weight: 10 }] } }, 'must ascend without duplicates'],
  ['a rollout that may replace no pod', { rollout: { maxSurge: '0%' } }, 'or set rollout.strategy to Recreate'],
  ['a weight above 100', { rollout: { steps: [{ weight: 101 }] } }, 'should be less than or equal to 100'],
]

const cluster = await findCluster(import.meta.filename)

describe.skipIf(cluster === undefined)('the definition of TritonPool on an API server', () => {
  const namespace = useNamespace(cluster)
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
  })

  const create = (name: string, spec: object): Promise<TritonPool> =>
    namespace.kube().create(tritonPools, {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name },
      spec: spec as TritonPool['spec'],
    })
  const refusalOf = async (creating: Promise<unknown>): Promise<string> => {
    const error = await creating.then(
      () => new Error('it was taken'),
      (reason: KubeError) => reason,
    )
    return error.message
  }

  it('fills in the defaults of a pool with only models, like withDefaults', async () => {
    const { spec } = await create('minimal', minimal)
    expect(spec).toEqual(withDefaults(minimal))
  })

  it('fills in the defaults of a partly written parent', async () => {
    const input: PoolSpecInput = {
      models: [model],
      resources: { limits: { 'nvidia.com/gpu': 1 } },
      scaling: { target: { p95Seconds: 5 }, fallback: { replicas: 2 } },
      rollout: { gate: { minRequests: 5 }, steps: [{ weight: 30 }] },
      drain: { graceSeconds: 60 },
    }
    const { spec } = await create('partial', input)
    expect(spec).toEqual(withDefaults(input))
    expect(spec.rollout.steps).toEqual([{ weight: 30, durationSeconds: 60 }])
  })

  it.each(refused)('rejects %s with advice', async (_, changes, message) => {
    expect(await refusalOf(create('refused', { ...minimal, ...changes }))).toContain(message)
  })

  it.each(['1st', 'a.b', `a${'-long'.repeat(11)}`])(
    'rejects the name %s, which is invalid for a Service',
    async (name) => {
      expect(await refusalOf(create(name, minimal))).toContain('use at most 54 characters')
    },
  )

  it('has no rule without a test here', () => {
    // Those of podPatch are in pod-patch.test.ts.
    const messages = listMessages(buildCrd('any').spec.versions[0]?.schema.openAPIV3Schema ?? {})
    const tried = [...refused.map(([, , message]) => message), 'use at most 54 characters']
    expect(messages.length).toBeGreaterThan(15)
    expect(messages.filter((message) => !tried.some((piece) => message.includes(piece)))).toEqual([])
  })

  it('accepts consistent specs', async () => {
    const podPatch = { spec: { priorityClassName: 'high', anything: [1, { deep: true }] } }
    const { spec } = await create('allowed', {
      models: two.map((one) => ({ ...one, source: s3('bucket') })),
      scaling: { minReplicas: 10, schedules: [{ ...night, minReplicas: 0 }], fallback: { replicas: 10 } },
      rollout: { steps: [1, 10, 100].map((weight) => ({ weight })) },
      drain: { routeStopSeconds: 1, exitTimeoutSeconds: 1, graceSeconds: 8 },
      podPatch,
    })
    expect(spec.podPatch).toEqual(podPatch)
  })

  it('accepts the pools of docs/tritonpool.md', async () => {
    const written = readYamlBlocks(readFileSync(join(rootDir, 'docs/tritonpool.md'), 'utf8')) as TritonPool[]
    const [plain, full, byHand] = written
    expect(written).toHaveLength(3)
    for (const pool of [plain, full, byHand]) await create(`written-${pool?.metadata.name}`, pool?.spec ?? {})
    // The full one sets every field except its models' default.
    const { spec } = await create('full', full?.spec ?? {})
    expect({ ...spec, models: [] }).toEqual({ ...full?.spec, models: [] })
    const fields = Object.keys(buildCrd().spec.versions[0]?.schema.openAPIV3Schema.properties?.spec?.properties ?? {})
    expect(Object.keys(spec).sort()).toEqual(fields.filter((name) => name !== 'replicas').sort())
  })

  it('lets an external owner set the number by the scale subresource, and reads it back', async () => {
    const { metadata } = await create('scaled', {
      ...minimal,
      replicas: 2,
      scaling: { ...external, target: { p95Seconds: 4 } },
    })
    const kube = namespace.kube()
    const status = { replicas: 2, selector: 'matte.dev/pool=scaled' }
    await kube.mergePatch(tritonPools, metadata.name, { status }, { subresource: 'status' })
    const scale: object = await kube.mergePatch(
      tritonPools,
      metadata.name,
      { spec: { replicas: 5 } },
      { subresource: 'scale' },
    )
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 5 }, status })
    expect((await kube.get(tritonPools, metadata.name))?.spec.replicas).toBe(5)
  })

  it('lets no other client scale a pool that Matte scales', async () => {
    await create('owned', minimal)
    const patch = { spec: { replicas: 5 } }
    const scaling = namespace.kube().mergePatch(tritonPools, 'owned', patch, { subresource: 'scale' })
    expect(await refusalOf(scaling)).toContain('replicas is decided by Matte')
  })

  it('accepts a leader’s term on a pool without a status', async () => {
    await create('led', minimal)
    const led = await namespace
      .kube()
      .mergePatch(tritonPools, 'led', { status: { leaderTerm: 3 } }, { subresource: 'status' })
    expect(led.status).toEqual({ observedGeneration: 0, leaderTerm: 3 })
  })

  it.each(statuses)('stores and prints a status: $name', async ({ name, status }) => {
    const { metadata } = await create(`is-${name}`, minimal)
    const kube = namespace.kube()
    const object = { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: metadata.name }, status }
    const written = await kube.apply(tritonPools, object as unknown as TritonPool, { subresource: 'status' })
    expect(written.status).toEqual(JSON.parse(JSON.stringify(status)))
    expect(shouldWrite(written.status, status, 0)).toBe(false)
    const table = await readTable(cluster, `${namespace.name()}/tritonpools/${metadata.name}`)
    expect(rowOf(table)).toMatchObject({
      Name: metadata.name,
      Ready: conditionOf(status, 'Ready').status,
      Reason: conditionOf(status, 'Ready').reason,
      Model: 'u2netp',
      Desired: status.desiredReplicas,
      'Ready Pods': status.readyReplicas,
      Draining: status.drainingReplicas,
      Queue: status.demand?.backlog ?? null,
      P95: status.demand?.p95Seconds ?? null,
    })
  })

  it('shows the columns in order, P95 only with -o wide', async () => {
    await create('columns', minimal)
    const { columnDefinitions } = await readTable(cluster, `${namespace.name()}/tritonpools/columns`)
    expect(columnDefinitions.map(({ name }) => name)).toEqual(['Name', ...printerColumns.map(({ name }) => name)])
    expect(columnDefinitions.filter(({ priority }) => priority > 0).map(({ name }) => name)).toEqual(['P95'])
  })
})

const conditionOf = ({ conditions }: PoolStatus, type: string) => {
  const found = conditions.find((condition) => condition.type === type)
  if (found === undefined) throw new Error(`there is no condition ${type}`)
  return found
}

/** The messages of all CEL rules, at every depth. */
function listMessages(schema: Schema): string[] {
  const rules = (schema['x-kubernetes-validations'] ?? []) as readonly { message: string }[]
  const children = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties]
  const below = children.flatMap((child) => (child ? listMessages(child) : []))
  return [...rules.map(({ message }) => message), ...below]
}

type Table = {
  readonly columnDefinitions: readonly { name: string; priority: number }[]
  readonly rows: readonly { cells: readonly unknown[] }[]
}

const rowOf = ({ columnDefinitions, rows }: Table): Record<string, unknown> =>
  Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, rows[0]?.cells[index]]))

/** The table that kubectl prints. */
async function readTable(cluster: LoadedConfig | undefined, path: string): Promise<Table> {
  const server = cluster?.config.getCurrentCluster()?.server
  if (cluster === undefined || server === undefined) throw new Error('there is no cluster')
  const options = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } }
  await cluster.config.applyToHTTPSOptions(options)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const asked = request(`${server}/apis/matte.dev/v1alpha1/namespaces/${path}`, options, (response) => {
    let body = ''
    response.setEncoding('utf8').on('data', (piece: string) => {
      body += piece
    })
    response.on('end', () => resolve(body)).on('error', reject)
  })
  asked.setTimeout(30_000, () => asked.destroy(new Error('the API server does not answer')))
  asked.on('error', reject).end()
  return JSON.parse(await promise) as Table
}
