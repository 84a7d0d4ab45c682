// Curves over time, single or stacked, with axes, thresholds and a legend.
import type { Panel } from '@matte/generate/chart/dashboards/panel'
import { colorNamed, colorOf, colors } from './colors.ts'
import type { Box, Curve, Drawn, Span } from './drawing.ts'
import { format } from './format.ts'
import { drawLegend } from './legend.ts'
import { round, write } from './text.ts'

const axisWidth = 58
const axisHeight = 18
const small = { fill: colors.faint, size: 10 } as const

export function drawCurves({ kind, unit, thresholds = [] }: Panel, { curves, box, span }: Drawn): string {
  const legend = drawLegend(curves, box)
  const plot: Box = {
    x: box.x + axisWidth,
    y: box.y + 4,
    width: box.width - axisWidth - 8,
    height: box.height - 4 - axisHeight - legend.height,
  }
  const levels = kind === 'stack' ? stack(curves) : curves.map(onTheFloor)
  const tops = levels.flat().flatMap(([, , top]) => (Number.isFinite(top) ? top : []))
  const { top, ticks } = scale(Math.max(0, ...tops), unit === 'bytes' ? 2 : 10)
  const toX = (at: number): number => plot.x + ((at - span.from) / (span.to - span.from)) * plot.width
  const toY = (value: number): number => plot.y + plot.height - (value / top) * plot.height
  const limits = thresholds
    .filter(({ from }) => from > 0 && from <= top)
    .map(({ from, color }) => drawLimit(toY(from), colorNamed(color), plot))
  const areas = levels.map((points, index) =>
    drawOne(points, { toX, toY, color: colorOf(index), filled: kind === 'stack' }),
  )
  return [
    ...ticks.map((tick) => drawLevel(toY(tick), format(tick, unit), plot)),
    ...drawTimes(span, plot, toX),
    ...limits,
    // The first series is on top, as in the legend.
    ...areas.toReversed(),
    legend.drawing,
  ].join('')
}

type Level = readonly [at: number, bottom: number, top: number]

const onTheFloor = ({ points }: Curve): Level[] => points.map(([at, top]) => [at, 0, top])

/** Stacks each series on those before it. */
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
  const line = (levels: readonly Level[], of: 1 | 2): string =>
    levels.map((level) => `${round(toX(level[0]))} ${round(toY(level[of]))}`).join('L')
  return splitAtGaps(points)
    .map((part) => {
      const path = `<path d="M${line(part, 2)}"`
      const stroke = `${path} stroke="${color}" fill="none" stroke-width="1.5" stroke-linecap="round"/>`
      if (!filled) return stroke
      return `<path d="M${line(part, 2)}L${line(part.toReversed(), 1)}Z" fill="${color}" opacity="0.45"/>${stroke}`
    })
    .join('')
}

/** A missing point, or one that is not a number, splits the line. */
function splitAtGaps(points: readonly Level[]): Level[][] {
  const step = Math.min(...points.slice(1).map(([at], index) => at - (points[index]?.[0] ?? at)))
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

/** About four round steps. */
function scale(highest: number, base: 2 | 10): { readonly top: number; readonly ticks: readonly number[] } {
  const rough = (highest || 1) / 4
  const power = base ** Math.floor(Math.log(rough) / Math.log(base))
  const step = ([1, 2, 2.5, 5].find((factor) => factor < base && factor * power >= rough) ?? base) * power
  const count = Math.max(1, Math.ceil((highest || 1) / step))
  return { top: step * count, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) }
}

const drawLimit = (y: number, color: string, { x, width }: Box): string =>
  `<path d="M${x} ${round(y)}h${width}" stroke="${color}" stroke-dasharray="6 4" opacity="0.7"/>`

const drawLevel = (y: number, label: string, { x, width }: Box): string =>
  `<path d="M${x} ${round(y)}h${width}" stroke="${colors.edge}"/>` +
  write(label, { x: x - 6, y: y + 4, anchor: 'end', ...small })

function drawTimes({ from, to }: Span, { y, height }: Box, toX: (at: number) => number): string[] {
  const step = [15, 30, 60, 120, 300, 600].find((seconds) => (to - from) / seconds <= 6) ?? 1_800
  const first = Math.ceil(from / step) * step
  const times = Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, index) => first + index * step)
  const end = step < 60 ? 19 : 16
  return times.map((at) =>
    write(new Date(at * 1_000).toISOString().slice(11, end), {
      x: toX(at),
      y: y + height + 14,
      anchor: 'middle',
      ...small,
    }),
  )
}
