// A dashboard as a PNG: its panels where Grafana puts them, drawn from the answers to the same queries.
import { toDashboard } from '@matte/generate/chart/dashboards/document'
import type { DashboardSource, Panel } from '@matte/generate/chart/dashboards/panel'
import sharp from 'sharp'
import { drawCurves, type Span } from './curves.ts'
import { type Curve, colors, cut, write } from './drawing.ts'
import { drawBars, drawStat } from './values.ts'

const column = 58
const line = 27
const gap = 6
const headHeight = 44
const titleHeight = 24

/** What the queries of a panel returned, by the panel's title. */
export type Answers = ReadonlyMap<string, readonly Curve[]>

export async function drawDashboard(source: DashboardSource, answers: Answers, span: Span): Promise<Buffer> {
  const { title, sentence } = source
  const panels = new Map(source.rows.flatMap((row) => row.panels).map((panel) => [panel.title, panel]))
  const placed = (toDashboard(source).panels ?? []).map(({ title: name = '', gridPos, type }) => {
    const { x = 0, y = 0, w = 0, h = 0 } = gridPos ?? {}
    const box = { x: x * column + gap, y: headHeight + y * line, width: w * column - gap, height: h * line - gap }
    const panel = panels.get(name)
    if (type === 'row' || panel === undefined) return { bottom: box.y + box.height, drawing: drawRow(name, box) }
    return { bottom: box.y + box.height, drawing: drawPanel(panel, answers.get(name) ?? [], { box, span }) }
  })
  const width = 24 * column + gap
  const height = Math.max(...placed.map(({ bottom }) => bottom)) + gap
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="DejaVu Sans, sans-serif">` +
    `<rect width="100%" height="100%" fill="${colors.page}"/>` +
    write(title, gap + 4, 27, { size: 18, bold: true }) +
    write(sentence, gap + 220, 27, { size: 12, fill: colors.faint }) +
    `${placed.map(({ drawing }) => drawing).join('')}</svg>`
  return sharp(Buffer.from(svg)).png({ palette: true, colours: 64, compressionLevel: 9, effort: 10 }).toBuffer()
}

type Place = { readonly box: { x: number; y: number; width: number; height: number }; readonly span: Span }

const drawRow = (title: string, { x, y, height }: Place['box']): string =>
  write(`▾ ${title}`, x + 2, y + height - 2, { size: 13, bold: true })

function drawPanel(panel: Panel, curves: readonly Curve[], { box, span }: Place): string {
  const { x, y, width, height } = box
  const frame = `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="2" fill="${colors.panel}" stroke="${colors.edge}"/>`
  const inner = { x: x + 4, y: y + titleHeight, width: width - 8, height: height - titleHeight - 4 }
  return frame + write(cut(panel.title, width - 12, 12), x + 8, y + 17, { size: 12, bold: true }) + drawInner()

  function drawInner(): string {
    if (curves.length === 0) {
      return write('nothing to show', x + width / 2, y + height / 2 + 8, { fill: colors.faint, anchor: 'middle' })
    }
    if (panel.kind === 'stat') return drawStat(panel, curves, inner)
    if (panel.kind === 'bars') return drawBars(panel, curves, inner)
    return drawCurves(panel, curves, inner, span)
  }
}
