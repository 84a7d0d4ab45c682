// Current values: large numbers side by side, or one bar each.
import type { Panel } from '@matte/generate/chart/dashboards/panel'
import { colorOf, colors, judge } from './colors.ts'
import type { Curve, Drawn } from './drawing.ts'
import { format } from './format.ts'
import { cut, round, write } from './text.ts'

const lastOf = ({ points }: Curve): number => points.at(-1)?.[1] ?? Number.NaN

export function drawStat({ unit, thresholds }: Panel, { curves, box }: Drawn): string {
  const width = box.width / Math.max(1, curves.length)
  const drawn = curves.map((curve, index) => {
    const value = lastOf(curve)
    const x = box.x + width * (index + 0.5)
    const fill = thresholds === undefined ? colorOf(index) : judge(value, thresholds)
    const size = Math.min(34, width / 4)
    const number = { x, y: box.y + box.height / 2 + size / 3, size, fill, anchor: 'middle', bold: true } as const
    const name = { x, y: box.y + box.height - 8, size: 10, fill: colors.faint, anchor: 'middle' } as const
    return write(formatWhole(value, unit), number) + write(cut(curve.name, width - 8, 10), name)
  })
  return drawn.join('')
}

/** Rounds counts, because rates make them fractional. */
const formatWhole = (value: number, unit: Panel['unit']): string =>
  format(unit === 'none' ? Math.round(value) : value, unit)

const barHeightMax = 22
const barHeightMin = 17
const valueWidth = 56
const size = 10

/** Largest first; values that do not fit are counted. */
export function drawBars({ unit, thresholds }: Panel, { curves, box }: Drawn): string {
  const sorted = curves.toSorted((a, b) => lastOf(b) - lastOf(a))
  const rows = Math.max(1, Math.floor(box.height / barHeightMin))
  const shown = sorted.length > rows ? sorted.slice(0, rows - 1) : sorted
  const height = Math.min(barHeightMax, box.height / Math.max(1, Math.min(sorted.length, rows)))
  const most = Math.max(...shown.map(lastOf), 1e-9)
  const nameEnd = box.x + box.width * 0.58
  const drawn = shown.map((curve, index) => {
    const value = lastOf(curve)
    const top = box.y + index * height
    const y = top + height - 6
    const fill = thresholds === undefined ? colorOf(index) : judge(value, thresholds)
    const width = Math.max(1, (value / most) * (box.x + box.width - nameEnd - valueWidth - 16))
    const bar = `x="${round(nameEnd + 6)}" y="${round(top + 3)}" width="${round(width)}" height="${round(height - 6)}"`
    return (
      write(cut(curve.name, nameEnd - box.x - 8, size), { x: nameEnd, y, size, anchor: 'end' }) +
      `<rect ${bar} fill="${fill}"/>` +
      write(formatWhole(value, unit), { x: nameEnd + 12 + width, y, size })
    )
  })
  const rest = sorted.length - shown.length
  if (rest === 0) return drawn.join('')
  const more = { x: nameEnd, y: box.y + rows * height - 6, size, fill: colors.faint, anchor: 'end' } as const
  return drawn.join('') + write(`and ${rest} more`, more)
}
