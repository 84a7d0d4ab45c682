import { describe, expect, it } from 'vitest'
import type { Deployment } from '../kube/objects.ts'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import { buildDisruptionBudget } from './disruption-budget.ts'
import { buildTritonDeployment, targetRevision } from './triton-deployment.ts'
import { buildTritonService } from './triton-service.ts'

const u2netp = { name: 'u2netp', modelVersion: 'service-v2', source: { imagePath: '/models' } } as const

function pool(spec: Partial<PoolSpecInput> = {}): TritonPool {
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name: 'cutout', uid: '4a3f', generation: 1 },
    spec: withDefaults({ models: [u2netp], ...spec }),
  }
}

type PodSpec = {
  containers: {
    args: string[]
    env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[]
    volumeMounts: { name: string; mountPath: string }[]
    lifecycle: unknown
  }[]
  volumes: { name: string; persistentVolumeClaim?: unknown }[]
  terminationGracePeriodSeconds: number
  securityContext: unknown
}

const podSpec = (deployment: Deployment): PodSpec => deployment.spec.template.spec as unknown as PodSpec

function container(spec: Partial<PoolSpecInput>) {
  const [first] = podSpec(buildTritonDeployment(pool(spec))).containers
  if (first === undefined) throw new Error('the pod has no container')
  return first
}

const snapshot = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

describe('the objects of a pool', () => {
  it('with u2netp on one core', async () => {
    const deployment = buildTritonDeployment(pool())
    await expect(snapshot(deployment)).toMatchFileSnapshot('snapshots/deployment-cpu.json')
    const revision = targetRevision(pool())
    await expect(snapshot(buildTritonService(pool(), revision))).toMatchFileSnapshot('snapshots/service.json')
    await expect(snapshot(buildDisruptionBudget(pool()))).toMatchFileSnapshot('snapshots/disruption-budget.json')
  })

  it('with two models on a GPU, from a claim and from S3, with every pod field of spec', async () => {
    const spec: PoolSpecInput = {
      models: [
        {
          ...u2netp,
          checksum: `sha256:${'01'.repeat(32)}`,
          source: { persistentVolumeClaim: { claimName: 'models', path: 'matting/v3' } },
        },
        {
          name: 'birefnet',
          modelVersion: 'hq-v1',
          checksum: `sha256:${'ab'.repeat(32)}`,
          source: { s3: { prefix: 's3://models/birefnet', secretName: 'model-store' } },
        },
      ],
      resources: { requests: { cpu: '4', memory: '8Gi' }, limits: { 'nvidia.com/gpu': 1, memory: '16Gi' } },
      nodeSelector: { 'nvidia.com/gpu.product': 'L4' },
      tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: { nodeAffinity: {} },
      drain: { routeStopSeconds: 10, exitTimeoutSeconds: 60, graceSeconds: 90 },
      podPatch: { metadata: { annotations: { team: 'images' } }, spec: { priorityClassName: 'serving' } },
    }
    await expect(snapshot(buildTritonDeployment(pool(spec)))).toMatchFileSnapshot('snapshots/deployment-gpu.json')
  })

  it('never have replicas, which only the scale subresource sets', () => {
    expect(buildTritonDeployment(pool()).spec).not.toHaveProperty('replicas')
  })
})

describe('the instances of a model on the CPU', () => {
  const prepared = (limits: Record<string, string>) => container({ resources: { limits } }).args.slice(3, 10)

  it.each([
    ['one core', { cpu: '1' }],
    ['less than two', { cpu: '1900m' }],
    ['no limit', { memory: '2Gi' }],
  ])('are as configured with %s', (_what, limits) => {
    expect(prepared(limits)).toEqual(['sh', '/proc/cpuinfo', '', '/models', 'u2netp', 'any', '--'])
  })

  it('are as configured with a GPU', () => {
    expect(container({ resources: { limits: { cpu: '8', 'nvidia.com/gpu': 1 } } }).args[0]).toBe('tritonserver')
  })

  it.each([
    ['4', '4'],
    ['3500m', '3'],
    [2, '2'],
  ])('are written to a copy of the repository with %s cores', (cpu, count) => {
    const { args } = container({ resources: { limits: { cpu } } })
    expect(args.slice(0, 2)).toEqual(['sh', '-c'])
    expect(args.slice(3, 11)).toEqual([
      ...['sh', '/proc/cpuinfo', count, '/models', 'u2netp', 'any', '--', 'tritonserver'],
    ])
    expect(args).toContain('--model-repository=/tmp/models/models')
  })

  it('are not affected by AWS variables without a Secret, so the SDK uses the identity of the pod', () => {
    const s3 = (more: object) => ({ models: [{ ...u2netp, source: { s3: { prefix: 's3://models/all', ...more } } }] })
    const variables = (more: object) => (container(s3(more)).env as { name: string }[]).map(({ name }) => name)
    expect(variables({})).toEqual(['HOME'])
    expect(variables({ secretName: 'bucket' })).toContain('AWS_ACCESS_KEY_ID')
  })

  it('are not changed in models that Triton downloads from S3', () => {
    const models = [{ ...u2netp, source: { s3: { prefix: 's3://models/all' } } }]
    expect(container({ models, resources: { limits: { cpu: '8' } } }).args).toContain(
      '--model-repository=s3://models/all',
    )
  })
})

describe('an accelerator by dynamic resource allocation', () => {
  const claims = [{ name: 'gpu' }]
  const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }]

  it.each<[string, Partial<PoolSpecInput>]>([
    ['a claim of the container', { resources: { claims } }],
    ['a claim of the pod', { podPatch: { spec: { resourceClaims } } }],
  ])('counts as a GPU: %s', (_what, spec) => {
    expect(container({}).args).toContain('--model-config-name=cpu')
    expect(container(spec).args).toContain('--model-config-name=gpu')
    expect(container(spec).args).not.toContain('--allow-gpu-metrics=false')
  })

  it.each([[{ resourceClaims: [] }], [{ resourceClaims: null }]])('does not exist with %j', (spec) => {
    expect(container({ resources: { claims: [] }, podPatch: { spec } }).args).toContain('--model-config-name=cpu')
  })

  it('is passed on to the pod and its container', () => {
    const spec = { resources: { claims }, podPatch: { spec: { resourceClaims } } }
    expect(buildTritonDeployment(pool(spec)).spec.template.spec).toMatchObject({
      resourceClaims,
      containers: [{ resources: { claims } }],
    })
  })
})

describe('the volumes of a pod', () => {
  it('have a limit each and do not prevent node removal by Cluster Autoscaler', () => {
    const { metadata, spec } = buildTritonDeployment(pool()).spec.template
    const { volumes } = spec as unknown as { volumes: { name: string; emptyDir?: { sizeLimit?: string } }[] }
    const local = volumes.filter(({ emptyDir }) => emptyDir !== undefined)
    for (const { emptyDir } of local) expect(emptyDir?.sizeLimit).toMatch(/^\d+Gi$/)
    expect(metadata?.annotations?.['cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes']).toBe(
      local.map(({ name }) => name).join(),
    )
  })
})

describe('an incomplete model configuration', () => {
  const flag = '--disable-auto-complete-config'

  it('is completed by Triton, unless spec disables it', () => {
    expect(container({}).args).not.toContain(flag)
    expect(container({ autoCompleteConfig: false }).args).toContain(flag)
  })
})

describe('the revision', () => {
  const revision = (spec: Partial<PoolSpecInput>) => targetRevision(pool(spec))

  // docs/tritonpool-versions.md: another version of the API must not replace pods.
  it('is the same in another version of the API', () => {
    expect(targetRevision({ ...pool({}), apiVersion: 'matte.dev/v1beta1' })).toBe(revision({}))
  })

  it('is eight hex digits', () => {
    expect(revision({})).toMatch(/^[0-9a-f]{8}$/)
  })

  it.each<[string, Partial<PoolSpecInput>]>([
    ['the image', { image: 'triton:next' }],
    ['resources', { resources: { requests: { cpu: '2' } } }],
    ['the checksum of a model', { models: [{ ...u2netp, checksum: `sha256:${'00'.repeat(32)}` }] }],
    ['the grace time', { drain: { graceSeconds: 60 } }],
    ['the pod patch', { podPatch: { metadata: { annotations: { restarted: 'today' } } } }],
  ])('changes with %s', (_what, spec) => {
    expect(revision(spec)).not.toBe(revision({}))
  })

  it.each<[string, Partial<PoolSpecInput>]>([
    ['scaling', { scaling: { maxReplicas: 20 } }],
    ['the steps of a rollout', { rollout: { steps: [] } }],
    ['slots', { slotsPerPod: 4 }],
    ['the public name of a model', { models: [{ ...u2netp, modelVersion: 'service-v3' }] }],
    ['being the default pool', { default: true }],
  ])('does not change with %s', (_what, spec) => {
    expect(revision(spec)).toBe(revision({}))
  })

  it('does not depend on the order of keys', () => {
    const a = { podPatch: { spec: { a: 1, b: [{ c: 1, d: 2 }] } } }
    const b = { podPatch: { spec: { b: [{ d: 2, c: 1 }], a: 1 } } }
    expect(revision(a)).toBe(revision(b))
  })
})

describe('a pod patch', () => {
  it.each<[string, Record<string, unknown>]>([
    ['other labels', { metadata: { labels: { 'matte.dev/pool': 'x', 'matte.dev/revision': 'x', team: 'images' } } }],
    ['none', { metadata: { labels: null } }],
    ['no metadata', { metadata: null }],
  ])('cannot remove Matte’s labels: %s', (_what, podPatch) => {
    const { metadata, spec } = buildTritonDeployment(pool({ podPatch }))
    expect(spec.template.metadata?.labels).toMatchObject({
      'matte.dev/pool': 'cutout',
      'matte.dev/revision': metadata.labels?.['matte.dev/revision'],
      'app.kubernetes.io/managed-by': 'matte-controller',
    })
  })

  it('may add labels', () => {
    const { spec } = buildTritonDeployment(pool({ podPatch: { metadata: { labels: { team: 'images' } } } }))
    expect(spec.template.metadata?.labels).toMatchObject({ team: 'images' })
    expect(spec.selector.matchLabels).not.toHaveProperty('team')
  })

  it('overrides spec', () => {
    const { spec } = buildTritonDeployment(pool({ podPatch: { spec: { terminationGracePeriodSeconds: 300 } } }))
    expect(spec.template.spec.terminationGracePeriodSeconds).toBe(300)
  })
})
