// Properties of every pod of the chart: options of its component, pull secrets, a reason for each rule of its policy.
import { describe, expect, it } from 'vitest'
import { isMap, isSeq, type Node, parseAllDocuments, type YAMLMap } from 'yaml'
import { chartDir, findMissing, render, runOrThrow } from './helm.ts'
import type { Manifest } from './manifest.ts'

const options = {
  labels: { team: 'images' },
  annotations: { note: 'kept' },
  nodeSelector: { pool: 'general' },
  tolerations: [{ key: 'spot', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [{ maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }],
  priorityClassName: 'important',
  extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
  extraEnvFrom: [{ configMapRef: { name: 'more' } }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
  extraContainers: [{ name: 'sidecar', image: 'example.com/sidecar:1' }],
}
const components = ['api', 'controller', 'operator', 'dispatcher', 'setup', 'postgresql', 'natsServer', 'versitygw']
const everywhere = Object.fromEntries(components.map((name) => [name, { pod: options }]))

/** Pods with their metadata, from all kinds of owners. */
const podsOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap(({ kind, metadata, spec }) => {
    const pod = kind === 'Pod' ? { metadata, spec } : spec?.template
    return pod === undefined ? [] : [{ owner: `${kind} ${metadata.name}`, ...pod }]
  })

describe.skipIf(findMissing('helm'))('every pod of the chart', () => {
  it('takes each option of its component', async () => {
    const { manifests, refusal } = await render(everywhere)
    expect(refusal).toBe('')
    const pods = podsOf(manifests)
    expect(pods).toHaveLength(10)
    const { nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName } = options
    for (const { owner, metadata, spec } of pods) {
      expect(metadata.labels, owner).toMatchObject(options.labels)
      expect(metadata.annotations, owner).toMatchObject(options.annotations)
      expect(spec, owner).toMatchObject({ nodeSelector, tolerations, affinity, topologySpreadConstraints })
      expect(spec, owner).toMatchObject({ priorityClassName })
      expect(spec, owner).toMatchObject({ volumes: expect.arrayContaining(options.extraVolumes) })
      const { containers = [] } = spec ?? {}
      expect(containers.slice(1), owner).toEqual(options.extraContainers)
      expect(containers[0], owner).toMatchObject({
        env: expect.arrayContaining(options.extraEnv),
        envFrom: options.extraEnvFrom,
        volumeMounts: expect.arrayContaining(options.extraVolumeMounts),
      })
    }
  })

  it('spreads over zones and nodes by default', async () => {
    for (const { owner, spec } of podsOf((await render()).manifests)) {
      const constraints = (spec as { topologySpreadConstraints?: { topologyKey: string }[] }).topologySpreadConstraints
      expect(
        constraints?.map(({ topologyKey }) => topologyKey),
        owner,
      ).toEqual(['topology.kubernetes.io/zone', 'kubernetes.io/hostname'])
    }
  })

  it('has the pull secrets, as do the pods of the pools', async () => {
    const own = { models: [{}], podPatch: { spec: { imagePullSecrets: [{ name: 'own' }] } } }
    const { manifests } = await render({ image: { pullSecrets: ['registry'] }, triton: { pools: { own } } })
    for (const { owner, spec } of podsOf(manifests)) {
      expect(spec, owner).toMatchObject({ imagePullSecrets: [{ name: 'registry' }] })
    }
    const pools = manifests.find(({ metadata }) => metadata.name === 'matte-pools')?.data ?? {}
    const secretsOf = (name: string): unknown => JSON.parse(pools[name] ?? '').podPatch.spec.imagePullSecrets
    expect(secretsOf('demo')).toEqual([{ name: 'registry' }])
    expect(secretsOf('own')).toEqual([{ name: 'own' }])
  })

  it('of a changed Job gets a new Job name, because Jobs are immutable', async () => {
    const jobOf = async (values: object): Promise<string | undefined> =>
      (await render(values)).manifests.find(({ kind }) => kind === 'Job')?.metadata.name
    const names = await Promise.all(
      [
        {},
        { commonLabels: { team: 'images' } },
        { setup: { pod: { annotations: { note: 'other' } } } },
        { image: { tag: '2' } },
        { image: { pullSecrets: ['registry'] } },
      ].map(jobOf),
    )
    expect(new Set(names).size).toBe(5)
    expect(await jobOf({ triton: { pools: { demo: { slotsPerPod: 2 } } } })).toBe(names[0])
  })

  it('requires no architecture, except in the demo pool', async () => {
    const { manifests } = await render()
    for (const { owner, spec } of podsOf(manifests)) expect(JSON.stringify(spec), owner).not.toContain('amd64')
    const demo = manifests.find(({ metadata }) => metadata.name === 'matte-pools')?.data?.demo ?? ''
    expect(JSON.parse(demo).nodeSelector).toEqual({ 'kubernetes.io/arch': 'amd64' })
  })

  it.each([
    ['without values', []],
    ['with servers of your own', ['-f', `${chartDir}/examples/production-cloudnativepg.yaml`, '--set', 'ipv6=true']],
  ])('has a reason for each rule of its policy, %s', async (_name, args) => {
    const text = await runOrThrow('helm', ['template', 'matte', chartDir, ...args])
    const policies = parseAllDocuments(text).filter((document) => document.get('kind') === 'NetworkPolicy')
    expect(policies.length).toBeGreaterThan(5)
    for (const policy of policies) {
      const spec = policy.get('spec') as YAMLMap
      for (const direction of ['ingress', 'egress']) {
        const rules = spec.get(direction)
        if (!isSeq(rules)) continue
        for (const [index, rule] of rules.items.entries()) {
          // The YAML parser attaches the comment of the first item to the list.
          const comment = (rule as Node).commentBefore ?? (index === 0 ? rules.commentBefore : undefined)
          expect(isMap(rule) && comment, `${policy.getIn(['metadata', 'name'])} ${direction} ${index}`).toBeTruthy()
        }
      }
    }
  })
})
