// Draws pictures of the dashboards into the folder MATTE_DASHBOARD_PICTURES; see `make dashboards`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { dashboards } from '@matte/generate/chart/dashboards/document'
import { rootDir } from '@matte/local/paths'
import { askCurves } from './panels.ts'
import { drawDashboard } from './picture/picture.ts'
import type { Prometheus } from './prometheus.ts'

/** Points per curve, about one per pixel. */
const points = 180

/** One PNG per dashboard, from `from` until now, in seconds since 1970. */
export async function drawPictures(prometheus: Prometheus, from: number): Promise<void> {
  const folder = process.env.MATTE_DASHBOARD_PICTURES
  if (folder === undefined || folder === '') return
  const to = Date.now() / 1_000
  const span = { from, to, step: Math.max(1, Math.ceil((to - from) / points)) }
  const dir = resolve(rootDir, folder)
  mkdirSync(dir, { recursive: true })
  for (const source of dashboards) {
    const panels = source.rows.flatMap((row) => row.panels)
    const answers = new Map(
      await Promise.all(panels.map(async (panel) => [panel.title, await askCurves(prometheus, panel, span)] as const)),
    )
    writeFileSync(join(dir, `${source.uid}.png`), await drawDashboard(source, answers, span))
  }
}
