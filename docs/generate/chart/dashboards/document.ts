// Grafana's JSON of a dashboard, as its sidecar loads it from a ConfigMap.
import type { Dashboard, Panel as GrafanaPanel, GridPos, RowPanel } from '@grafana/schema'
import { datasource, toPanel } from './grafana-panel.ts'
import type { DashboardSource, Panel, Row } from './panel.ts'
import { platform } from './platform.ts'
import { product } from './product.ts'
import { sre } from './sre.ts'
import { otherDashboards, variables } from './variables.ts'

export const dashboards: readonly DashboardSource[] = [platform, sre, product]

/** Writers of the chart's dashboard files, by path. */
export const dashboardFiles: Readonly<Record<string, () => string>> = Object.fromEntries(
  dashboards.map((source) => [
    `charts/matte/files/dashboards/${source.uid}.json`,
    () => `${JSON.stringify(toDashboard(source), null, 1)}\n`,
  ]),
)

/** Grafana 13. */
const schemaVersion = 42

export function toDashboard({ uid, title, sentence, rows }: DashboardSource): Dashboard {
  return {
    uid,
    title,
    description: sentence,
    tags: ['matte'],
    schemaVersion,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    links: [otherDashboards],
    annotations: { list: [] },
    templating: { list: variables(datasource) },
    panels: arrange(rows),
  }
}

const columns = 24

/** Three graphs per line; if their number is not divisible by three, the first two or four take half a line each. */
function sizeOf(panel: Panel, panels: readonly Panel[]) {
  if (panel.kind === 'stat') return { w: panel.width ?? 8, h: 4 }
  const curves = panels.filter(({ kind }) => kind !== 'stat')
  const halves = [0, 4, 2][curves.length % 3] ?? 0
  return { w: curves.indexOf(panel) < halves ? 12 : 8, h: 8 }
}

/** Places panels side by side, in order. */
function arrange(rows: readonly Row[]): (GrafanaPanel | RowPanel)[] {
  const placed: (GrafanaPanel | RowPanel)[] = []
  let top = 0
  for (const { title, panels } of rows) {
    const gridPos: GridPos = { x: 0, y: top++, w: columns, h: 1 }
    placed.push({ type: 'row', id: placed.length + 1, title, collapsed: false, gridPos, panels: [] })
    let left = 0
    let lineHeight = 0
    for (const panel of panels) {
      const { w, h } = sizeOf(panel, panels)
      // Panels of different height start a new line.
      if (left + w > columns || (left > 0 && h !== lineHeight)) {
        top += lineHeight
        left = 0
      }
      placed.push({ ...toPanel(panel), id: placed.length + 1, gridPos: { x: left, y: top, w, h } })
      left += w
      lineHeight = h
    }
    top += lineHeight
  }
  return placed
}
