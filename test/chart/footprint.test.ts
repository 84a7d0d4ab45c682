// Compares the table of requests in docs/footprint.md with the chart.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'

type Requests = { readonly pods: number; readonly cpu: number; readonly memory: number }

/** Millicores. */
const cpuOf = (text: string): number => (text.endsWith('m') ? Number(text.slice(0, -1)) : 1_000 * Number(text))
/** MiB. */
const memoryOf = (text: string): number => Number(text.slice(0, -2)) * (text.endsWith('Gi') ? 1_024 : 1)

const sum = (all: readonly Requests[]): Requests => ({
  pods: all.reduce((total, { pods }) => total + pods, 0),
  cpu: all.reduce((total, { cpu }) => total + cpu, 0),
  memory: all.reduce((total, { memory }) => total + memory, 0),
})

type Resources = { readonly requests?: { readonly cpu?: string; readonly memory?: string } }

const times = (pods: number, containers: readonly Resources[]): Requests => ({
  pods,
  cpu: pods * containers.reduce((total, { requests }) => total + cpuOf(requests?.cpu ?? '0'), 0),
  memory: pods * containers.reduce((total, { requests }) => total + memoryOf(requests?.memory ?? '0Mi'), 0),
})

/** Requests by component, without Jobs and test pods; pools by their specs. */
async function requestsOfChart(): Promise<Map<string, Requests>> {
  const { manifests } = await render()
  const found = new Map<string, Requests>()
  for (const { kind, metadata, spec } of manifests) {
    if (kind !== 'Deployment' && kind !== 'StatefulSet') continue
    const containers = (spec?.template?.spec.containers ?? []).map(({ resources }) => (resources ?? {}) as Resources)
    found.set(metadata.name.replace(/^matte-/, ''), times(spec?.replicas ?? 1, containers))
  }
  const { data = {} } = manifests.find(({ metadata }) => metadata.name === 'matte-pools') ?? {}
  for (const [name, text] of Object.entries(data)) {
    const { resources, scaling } = JSON.parse(text)
    found.set(`pool ${name}`, times(scaling?.minReplicas ?? 1, [resources]))
  }
  return found
}

/** Table rows below the mark: part, pods, CPU, memory. */
function requestsOfDocument(): Map<string, Requests> {
  const text = readFileSync(join(rootDir, 'docs/footprint.md'), 'utf8')
  const [, table = ''] = /<!-- ours.*?-->\n((?:\|.*\n)+)/.exec(text) ?? []
  const rows = table.split('\n').slice(2, -1)
  return new Map(
    rows.map((row) => {
      const [, part = '', pods = '', cpu = '', memory = ''] = row.split('|').map((cell) => cell.trim())
      return [part, { pods: Number(pods), cpu: cpuOf(cpu), memory: memoryOf(memory) }]
    }),
  )
}

describe.skipIf(findMissing('helm'))('docs/footprint.md', () => {
  it('has the requests of an installation without values', async () => {
    const chart = await requestsOfChart()
    const of = (...names: string[]) => sum(names.map((name) => chart.get(name) ?? times(0, [])))
    const all = sum([...chart.values()])
    const written = requestsOfDocument()
    expect(Object.fromEntries(written)).toEqual({
      API: of('api'),
      worker: of('worker'),
      operator: of('operator'),
      dispatcher: of('dispatcher'),
      'built-in PostgreSQL, NATS, object store': of('postgresql', 'nats', 'object-store'),
      'pool `demo`, one CPU pod of Triton': of('pool demo'),
      all,
    })
    const { pods, cpu, memory } = of('api', 'worker', 'operator', 'dispatcher')
    const text = readFileSync(join(rootDir, 'docs/footprint.md'), 'utf8')
    expect(text).toContain(`${pods} pods with ${cpu}m and ${memory}Mi remain`)
    expect(text).toContain(`| Matte: API, worker, operator, dispatcher | ${pods} | ${cpu}m | ${memory}Mi |`)
  })
})
