// Curves over time, single or stacked, with axes, thresholds and a legend.
import type { Panel } from '@matte/generate/chart/dashboards/panel'
import { type Box, type Curve, colorNamed, colorOf, colors, cut, format, round, widthOf, write } from './drawing.ts'

export type Span = { readonly from: number; readonly to: number }

const axisWidth = 58
const axisHeight = 18
const legendLine = 15
const legendLinesMax = 3
const legendSize = 10

export function drawCurves({ kind, unit, thresholds = [] }: Panel, curves: readonly Curve[], box: Box, span: Span) {
  const legend = drawLegend(curves, box)
  const plot: Box = {
    x: box.x + axisWidth,
    y: box.y + 4,
    width: box.width - axisWidth - 8,
    height: box.height - 4 - axisHeight - legend.height,
  }
  const stacked =
    kind === 'stack' ? stack(curves) : curves.map(({ points }) => points.map(([at, top]) => [at, 0, top] as const))
  const highest = Math.max(0, ...stacked.flat().flatMap(([, , top]) => (Number.isFinite(top) ? top : [])))
  const { top, ticks } = scale(highest)
  const toX = (at: number): number => plot.x + ((at - span.from) / (span.to - span.from)) * plot.width
  const toY = (value: number): number => plot.y + plot.height - (value / top) * plot.height
  const limits = thresholds.flatMap(({ from, color }) =>
    from > 0 && from <= top
      ? `<path d="M${plot.x} ${round(toY(from))}h${plot.width}" stroke="${colorNamed(color)}" stroke-dasharray="6 4" opacity="0.7"/>`
      : [],
  )
  const areas = stacked.map((points, index) =>
    drawOne(points, { toX, toY, color: colorOf(index), filled: kind === 'stack' }),
  )
  return [
    ...ticks.map((tick) => drawLevel(toY(tick), format(tick, unit), plot)),
    ...drawTimes(span, plot, toX),
    ...limits,
    // The first on top, as it is the first in the legend.
    ...areas.toReversed(),
    legend.drawing,
  ].join('')
}

type Level = readonly [at: number, bottom: number, top: number]

/** Each on top of those before it. */
function stack(curves: readonly Curve[]): Level[][] {
  const heights = new Map<number, number>()
  return curves.map(({ points }) =>
    points.map(([at, value]) => {
      const bottom = heights.get(at) ?? 0
      const top = bottom + (Number.isFinite(value) ? value : 0)
      heights.set(at, top)
      return [at, bottom, top] as const
    }),
  )
}

type Style = {
  readonly toX: (at: number) => number
  readonly toY: (value: number) => number
  readonly color: string
  readonly filled: boolean
}

function drawOne(points: readonly Level[], { toX, toY, color, filled }: Style): string {
  const parts = splitAtGaps(points)
  const line = (levels: readonly Level[], of: 1 | 2): string =>
    levels.map((level) => `${round(toX(level[0]))} ${round(toY(level[of]))}`).join('L')
  return parts
    .map((part) => {
      const stroke = `<path d="M${line(part, 2)}" stroke="${color}" fill="none" stroke-width="1.5" stroke-linecap="round"/>`
      if (!filled) return stroke
      return `<path d="M${line(part, 2)}L${line(part.toReversed(), 1)}Z" fill="${color}" opacity="0.45"/>${stroke}`
    })
    .join('')
}

/** A point that is no number, or is missing, ends a part. */
function splitAtGaps(points: readonly Level[]): Level[][] {
  const steps = points.slice(1).map(([at], index) => at - (points[index]?.[0] ?? at))
  const step = Math.min(...steps)
  const parts: Level[][] = []
  let before = Number.NaN
  for (const point of points) {
    if (!Number.isFinite(point[2])) continue
    if (point[0] - before <= step * 1.5) parts.at(-1)?.push(point)
    else parts.push([point])
    before = point[0]
  }
  return parts
}

/** Round steps, four or so. */
function scale(highest: number): { readonly top: number; readonly ticks: readonly number[] } {
  const rough = (highest || 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  const count = Math.max(1, Math.ceil((highest || 1) / step))
  return { top: step * count, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) }
}

const drawLevel = (y: number, label: string, plot: Box): string =>
  `<path d="M${plot.x} ${round(y)}h${plot.width}" stroke="${colors.edge}"/>` +
  write(label, plot.x - 6, y + 4, { anchor: 'end', fill: colors.faint, size: 10 })

function drawTimes({ from, to }: Span, plot: Box, toX: (at: number) => number): string[] {
  const step = [15, 30, 60, 120, 300, 600].find((seconds) => (to - from) / seconds <= 6) ?? 1_800
  const first = Math.ceil(from / step) * step
  const times = Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, index) => first + index * step)
  return times.map((at) =>
    write(new Date(at * 1_000).toISOString().slice(11, step < 60 ? 19 : 16), toX(at), plot.y + plot.height + 14, {
      anchor: 'middle',
      fill: colors.faint,
      size: 10,
    }),
  )
}

/** Names side by side at the bottom; what does not fit is counted. */
function drawLegend(curves: readonly Curve[], box: Box): { readonly drawing: string; readonly height: number } {
  const placed: string[] = []
  let left = box.x + 8
  let line = 0
  for (const [index, { name }] of curves.entries()) {
    const text = cut(name, box.width - 40, legendSize)
    const width = 22 + widthOf(text, legendSize)
    if (left + width > box.x + box.width && left > box.x + 8) {
      left = box.x + 8
      line++
    }
    const rest = curves.length - index
    const isFull = line === legendLinesMax - 1 && left + width + 70 > box.x + box.width && rest > 1
    if (isFull) {
      placed.push(`${line} ${write(`and ${rest} more`, left, 0, { size: legendSize, fill: colors.faint })}`)
      break
    }
    placed.push(
      `${line} <path d="M${round(left)} -4h12" stroke="${colorOf(index)}" stroke-width="3"/>${write(text, left + 16, 0, { size: legendSize })}`,
    )
    left += width
  }
  const height = (line + 1) * legendLine
  const drawing = placed.map((each) => {
    const [, on = '0', drawn = ''] = /^(\d+) (.*)$/s.exec(each) ?? []
    const y = box.y + box.height - height + (Number(on) + 1) * legendLine - 4
    return `<g transform="translate(0 ${round(y)})">${drawn}</g>`
  })
  return { drawing: drawing.join(''), height }
}
