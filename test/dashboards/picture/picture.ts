// A dashboard as a PNG, with Grafana's layout and data of the same queries.
import { toDashboard } from '@matte/generate/chart/dashboards/document'
import type { DashboardSource, Panel } from '@matte/generate/chart/dashboards/panel'
import sharp from 'sharp'
import { colors } from './colors.ts'
import { drawCurves } from './curves.ts'
import type { Box, Curve, Drawn, Span } from './drawing.ts'
import { cut, write } from './text.ts'
import { drawBars, drawStat } from './values.ts'

const column = 58
const line = 27
const gap = 6
const headHeight = 44
const titleHeight = 24
const font = 'DejaVu Sans, sans-serif'

/** Query results by panel title. */
type Answers = ReadonlyMap<string, readonly Curve[]>

export async function drawDashboard(source: DashboardSource, answers: Answers, span: Span): Promise<Buffer> {
  const { title, sentence } = source
  const panels = new Map(source.rows.flatMap((row) => row.panels).map((panel) => [panel.title, panel]))
  const placed = (toDashboard(source).panels ?? []).map(({ title: name = '', gridPos }) => {
    const { x = 0, y = 0, w = 0, h = 0 } = gridPos ?? {}
    const box = { x: x * column + gap, y: headHeight + y * line, width: w * column - gap, height: h * line - gap }
    const panel = panels.get(name)
    const drawing = panel ? drawPanel(panel, { curves: answers.get(name) ?? [], box, span }) : drawRow(name, box)
    return { bottom: box.y + box.height, drawing }
  })
  const width = 24 * column + gap
  const height = Math.max(...placed.map(({ bottom }) => bottom)) + gap
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="${font}">` +
    `<rect width="100%" height="100%" fill="${colors.page}"/>` +
    write(title, { x: gap + 4, y: 27, size: 18, bold: true }) +
    write(sentence, { x: gap + 220, y: 27, size: 12, fill: colors.faint }) +
    `${placed.map(({ drawing }) => drawing).join('')}</svg>`
  return sharp(Buffer.from(svg)).png({ palette: true, quality: 40, dither: 0, effort: 10 }).toBuffer()
}

const drawRow = (title: string, { x, y, height }: Box): string =>
  write(`▾ ${title}`, { x: x + 2, y: y + height - 2, size: 13, bold: true })

function drawPanel(panel: Panel, { curves, box, span }: Drawn): string {
  const { x, y, width, height } = box
  const place = `x="${x}" y="${y}" width="${width}" height="${height}"`
  const frame = `<rect ${place} rx="2" fill="${colors.panel}" stroke="${colors.edge}"/>`
  const inner = { x: x + 4, y: y + titleHeight, width: width - 8, height: height - titleHeight - 4 }
  const title = write(cut(panel.title, width - 12, 12), { x: x + 8, y: y + 17, size: 12, bold: true })
  return `${frame}${title}${drawInner(panel, { curves, box: inner, span })}`
}

function drawInner(panel: Panel, drawn: Drawn): string {
  const { curves, box } = drawn
  if (curves.length === 0) {
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2, anchor: 'middle' } as const
    return write('nothing to show', { ...middle, fill: colors.faint })
  }
  if (panel.kind === 'stat') return drawStat(panel, drawn)
  return panel.kind === 'bars' ? drawBars(panel, drawn) : drawCurves(panel, drawn)
}
