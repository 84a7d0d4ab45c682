// Runs the queries of every panel against a Prometheus, with Grafana's variables replaced.

import { dashboards } from '@matte/generate/chart/dashboards/document'
import { toExpression } from '@matte/generate/chart/dashboards/grafana-panel'
import type { Panel, Query } from '@matte/generate/chart/dashboards/panel'
import type { Curve } from './picture/drawing.ts'
import type { Prometheus, Series, Span } from './prometheus.ts'

/** Labels that these tests' Prometheus adds to every series. */
export const namespace = 'matte-test'
const job = 'matte'

/** Longer than any run of these tests. */
const range = '15m'
/** Resolution in seconds, Prometheus' scrape interval. */
const rateInterval = '15s'
const step = 5
/** Graphs are checked over the last minute. */
const windowSeconds = 60

type PanelQuery = { readonly name: string; readonly panel: Panel; readonly query: Query }

export const panelQueries: readonly PanelQuery[] = dashboards.flatMap(({ title, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap((panel) => panel.queries.map((query) => ({ name: `${title}: ${panel.title}`, panel, query }))),
  ),
)

/** The query as Grafana sends it. */
export const expand = (query: Query): string =>
  toExpression(query)
    .replaceAll('$__rate_interval', rateInterval)
    .replaceAll('$__range', range)
    .replaceAll('$namespace', namespace)
    .replaceAll('$release', job)

/** The series' name in Grafana; a missing label is empty. */
const nameOf = ({ legend }: Query, { labels }: Series): string =>
  legend.replaceAll(/\{\{(\w+)\}\}/g, (_all, label: string) => labels[label] ?? '').trim()

/** Queries without data, or without a label of their legend; one line each. */
export async function listSilent(prometheus: Prometheus, asked: readonly PanelQuery[]): Promise<string[]> {
  const now = Date.now() / 1_000
  const span = { from: now - windowSeconds, to: now, step }
  const found = await Promise.all(
    asked.map(async ({ name, panel, query }) => {
      const shown = await askPanel(prometheus, { panel, query }, span)
      if (shown.length === 0) return panel.emptyBecause === undefined ? [`${name}: ${expand(query)}`] : []
      const named = [...query.legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      const missing = named.filter((label) => !shown.some(({ labels }) => label in labels))
      return missing.map((label) => `${name}: no series has the label ${label}`)
    }),
  )
  return found.flat()
}

/** Graphs over a time span, other panels at the current time; without series that have no value. */
async function askPanel(prometheus: Prometheus, { panel, query }: Omit<PanelQuery, 'name'>, span: Span) {
  const isCurve = panel.kind === 'lines' || panel.kind === 'stack'
  const found = await (isCurve ? prometheus.queryRange(expand(query), span) : prometheus.query(expand(query)))
  return found.filter(({ points }) => points.some(([, value]) => Number.isFinite(value)))
}

/** Series of a panel, for its picture. */
export async function askCurves(prometheus: Prometheus, panel: Panel, span: Span): Promise<readonly Curve[]> {
  const asked = panel.queries.map(async (query) =>
    (await askPanel(prometheus, { panel, query }, span)).map((one) => ({
      name: nameOf(query, one),
      points: one.points,
    })),
  )
  return (await Promise.all(asked)).flat()
}
