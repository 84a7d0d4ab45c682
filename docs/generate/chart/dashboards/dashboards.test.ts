// Checks dashboard sources against the metric definitions, and their JSON beyond Grafana's types. test/dashboards and
// test/e2e/dashboards.test.ts check that each query returns data.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { rootDir } from '@matte/local/paths'
import { describe, expect, it } from 'vitest'
import { metricsByProcess } from '../../metrics-document.ts'
import { dashboards, toDashboard } from './document.ts'
import { toExpression } from './grafana-panel.ts'
import type { DashboardSource, Query } from './panel.ts'
import { scope } from './variables.ts'

type Metric = { readonly kind: string; readonly labels: readonly string[] }

/** Labels of every series: from the registry, from Prometheus and, in Kubernetes, from the monitor. */
const commonLabels = ['process', 'namespace', 'job', 'pod', 'le']

const request = ['model', 'version', 'pool', 'revision']
const gpu = ['gpu_uuid', 'pool', 'revision']

/** Triton's metrics in the panels, named as in Triton's documentation. */
const tritonMetrics = [
  { name: 'nv_inference_request_success', kind: 'counter', labels: request },
  { name: 'nv_inference_request_failure', kind: 'counter', labels: [...request, 'reason'] },
  { name: 'nv_inference_queue_duration_us', kind: 'counter', labels: request },
  { name: 'nv_inference_compute_infer_duration_us', kind: 'counter', labels: request },
  { name: 'nv_inference_pending_request_count', kind: 'gauge', labels: request },
  { name: 'nv_gpu_utilization', kind: 'gauge', labels: gpu },
  { name: 'nv_gpu_memory_used_bytes', kind: 'gauge', labels: gpu },
  { name: 'nv_gpu_memory_total_bytes', kind: 'gauge', labels: gpu },
] as const

const queriesOf = ({ rows }: DashboardSource): readonly Query[] =>
  rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries))

/** Labels of Matte's metrics, and of prom-client's default metrics. */
async function listMetrics(): Promise<ReadonlyMap<string, Metric>> {
  const metrics = new Map<string, Metric>()
  for (const { name, kind, labels } of Object.values(metricsByProcess)
    .flat()
    .flatMap((group) => Object.values(group))) {
    metrics.set(name, { kind, labels: Object.keys(labels) })
  }
  for (const { name, type } of await createRegistry('test').getMetricsAsJSON()) {
    if (!metrics.has(name)) metrics.set(name, { kind: String(type), labels: [] })
  }
  for (const { name, kind, labels } of tritonMetrics) metrics.set(name, { kind, labels })
  return metrics
}

const selectors = ({ expr }: Query): string[] =>
  [...expr.matchAll(/\b(?:matte|process|nodejs|nv)_\w+/g)].filter(isMetric).map(([name]) => name)

/** Excludes labels that start like a metric. */
const isMetric = ({ 0: name, index, input = '' }: RegExpExecArray): boolean =>
  input.charAt(index + name.length) === '{' || name.startsWith('matte_')

function find(metrics: ReadonlyMap<string, Metric>, sample: string): Metric | undefined {
  const found = metrics.get(sample)
  if (found && found.kind !== 'histogram') return found
  const histogram = metrics.get(sample.replace(/_(bucket|sum|count)$/, ''))
  return histogram?.kind === 'histogram' ? histogram : undefined
}

/** Labels in matchers, aggregations and legends. */
const labelsOf = ({ expr, legend }: Query): readonly string[] => [
  ...[...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label),
  ...[...expr.matchAll(/(?:by|ignoring|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */)),
  ...[...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
]

describe.each(dashboards)('$title', (source) => {
  const { id, uid, panels = [] } = toDashboard(source)

  it('uses existing metrics and labels', async () => {
    const metrics = await listMetrics()
    for (const query of queriesOf(source)) {
      const names = selectors(query)
      expect(names.length, query.expr).toBeGreaterThan(0)
      expect(names.filter((name) => find(metrics, name) === undefined)).toEqual([])
      const known = new Set([...names.flatMap((name) => find(metrics, name)?.labels ?? []), ...commonLabels])
      expect(
        labelsOf(query).filter((label) => !known.has(label)),
        query.expr,
      ).toEqual([])
    }
  })

  it('applies rates to counters only', async () => {
    const metrics = await listMetrics()
    for (const query of queriesOf(source)) {
      const rated = [...query.expr.matchAll(/(?:rate|increase)\((\w+)\{/g)].map(([, name = '']) => name)
      const kinds = new Map(selectors(query).map((name) => [name, find(metrics, name)?.kind]))
      for (const [name, kind] of kinds) expect(rated.includes(name), query.expr).toBe(kind !== 'gauge')
    }
  })

  it('restricts queries to the selected release', () => {
    for (const query of queriesOf(source)) {
      expect(toExpression(query).split(scope).length - 1, query.expr).toBe(selectors(query).length)
      expect(toExpression(query)).not.toMatch(/\[R/)
    }
  })

  it('has a fixed uid, no id, and unique panel titles', () => {
    expect(id).toBeUndefined()
    expect(uid).toBe(source.uid)
    const titles = panels.map(({ title }) => title)
    expect(new Set(titles).size).toBe(titles.length)
    expect(new Set(panels.map((panel) => panel.id)).size).toBe(panels.length)
  })

  it('has no overlapping panels', () => {
    const taken = new Set<string>()
    for (const { gridPos, title } of panels) {
      const { x = 0, y = 0, w = 0, h = 0 } = gridPos ?? {}
      expect(x + w, title).toBeLessThanOrEqual(24)
      for (let column = x; column < x + w; column++) {
        for (let line = y; line < y + h; line++) {
          expect(taken.has(`${column} ${line}`), `${title} covers another panel`).toBe(false)
          taken.add(`${column} ${line}`)
        }
      }
    }
  })

  it('writes null as the missing lower bound', () => {
    const steps = panels.flatMap(
      (panel) => ('fieldConfig' in panel ? panel.fieldConfig?.defaults.thresholds?.steps : []) ?? [],
    )
    expect(steps.length).toBeGreaterThan(0)
    const read = JSON.parse(JSON.stringify(steps)) as readonly { value: number | null }[]
    expect(new Set(read.map(({ value }) => typeof value))).toEqual(new Set(['object', 'number']))
  })

  it('links to runbooks that exist', () => {
    const runbooks = join(rootDir, 'charts/matte/runbooks')
    const named = source.rows.flatMap((row) => row.panels.flatMap((panel) => panel.runbooks ?? []))
    expect(named.filter((alert) => !existsSync(join(runbooks, `${alert}.md`)))).toEqual([])
  })
})
