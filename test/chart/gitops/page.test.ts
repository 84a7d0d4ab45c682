// The YAML of docs/operations/gitops.md, and its statements about the rendered chart.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { conditionTypes } from '@matte/controller/operator/pool/reasons'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readYamlBlocks } from '../../support/yaml-blocks.ts'
import { chartDir, findMissing, render, runOrThrow } from '../helm.ts'

const page = readFileSync(join(rootDir, 'docs/operations/gitops.md'), 'utf8')
type Written = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly spec: {
    readonly source?: { readonly helm: { readonly valuesObject: object } }
    readonly values?: object
    readonly valuesFrom?: readonly { readonly kind: string; readonly name: string }[]
  }
}
const blocks = readYamlBlocks(page) as Written[]
const find = (kind: string): Written => {
  const found = blocks.find((block) => block.kind === kind)
  if (found === undefined) throw new Error(`the page has no ${kind}`)
  return found
}

/** Values of the HelmRelease: its files, overridden by its own values. */
function fluxValues(): object {
  const { valuesFrom = [], values } = find('HelmRelease').spec
  const files = valuesFrom.map(({ kind, name }) => {
    const file = blocks.find((block) => block.kind === kind && block.metadata.name === name)?.data?.['values.yaml']
    if (file === undefined) throw new Error(`the page has no ${kind} ${name} with values.yaml`)
    return parse(file) as object
  })
  return Object.assign({}, ...files, values)
}

const autoscaled = { api: { autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4 } } }

describe('the page about GitOps', () => {
  it('has a pool, and an object of each required kind', () => {
    expect(blocks.map(({ kind }) => kind)).toEqual([
      'Application',
      'TritonPool',
      'HelmRelease',
      'ConfigMap',
      'Kustomization',
    ])
  })

  it('has no null in the values of a HelmRelease, because the API server would drop it', () => {
    expect(JSON.stringify(find('HelmRelease').spec.values)).not.toContain('null')
    expect(fluxValues()).toMatchObject({ triton: { pools: { demo: null } } })
  })

  it('names existing conditions', () => {
    const named = [...page.matchAll(/condition(?:=|s\[\?\(@\.type==")(\w+)/g)].map(([, name = '']) => name)
    expect(named.length).toBeGreaterThan(1)
    for (const name of named) expect(conditionTypes).toContain(name)
  })
})

describe.skipIf(findMissing('helm'))('the output of the chart in a GitOps tool', () => {
  it.each([
    ['Argo CD', find('Application').spec.source?.helm.valuesObject],
    ['Flux', fluxValues()],
    ['an installation with autoscalers', autoscaled],
  ])('is the same each time with the values of %s, without Secrets', async (_tool, values) => {
    expect(values).toBeDefined()
    const [first, second] = [await render(values), await render(values)]
    expect(first.refusal).toBe('')
    expect(second.manifests).toEqual(first.manifests)
    expect(first.manifests.filter(({ kind }) => kind === 'Secret')).toEqual([])
  })

  it('omits the number of pods with an autoscaler', async () => {
    const { manifests } = await render(autoscaled)
    const api = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'matte-api')
    expect(api?.spec).toBeDefined()
    expect(api?.spec).not.toHaveProperty('replicas')
  })

  it('has no hook that runs before the release', async () => {
    const { manifests } = await render()
    const hooks = manifests.flatMap(({ metadata }) => metadata.annotations?.['helm.sh/hook'] ?? [])
    for (const hook of hooks) expect(hook).toMatch(/^(test|post-delete)$/)
  })

  it('keeps the CustomResourceDefinition by an annotation that both tools respect', async () => {
    const { manifests } = await render()
    const definition = manifests.find(({ kind }) => kind === 'CustomResourceDefinition')
    expect(definition?.metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' })
  })

  it('names the setup Job by its content, so a change creates another Job', async () => {
    const nameOf = async (args: readonly string[]) =>
      /name: (matte-setup-\w{8})/.exec(await runOrThrow('helm', ['template', 'matte', chartDir, ...args]))?.[1]
    expect(await nameOf([])).toBe(await nameOf([]))
    expect(await nameOf(['--set', 'setup.workspace=other'])).not.toBe(await nameOf([]))
  })
})
