// Values as they are now: large numbers side by side, or a bar for each.
import type { Panel } from '@matte/generate/chart/dashboards/panel'
import { type Box, type Curve, colorOf, colors, cut, format, judge, round, write } from './drawing.ts'

const lastOf = ({ points }: Curve): number => points.at(-1)?.[1] ?? Number.NaN

export function drawStat({ unit, thresholds }: Panel, curves: readonly Curve[], box: Box): string {
  const width = box.width / Math.max(1, curves.length)
  return curves
    .map((curve, index) => {
      const value = lastOf(curve)
      const middle = box.x + width * (index + 0.5)
      const fill = thresholds === undefined ? colorOf(index) : judge(value, thresholds)
      const size = Math.min(34, width / 4)
      return (
        write(format(value, unit), middle, box.y + box.height / 2 + size / 3, {
          size,
          fill,
          anchor: 'middle',
          bold: true,
        }) +
        write(cut(curve.name, width - 8, 10), middle, box.y + box.height - 8, {
          size: 10,
          fill: colors.faint,
          anchor: 'middle',
        })
      )
    })
    .join('')
}

const barHeightMax = 22

/** The largest first; what does not fit is counted. */
export function drawBars({ unit, thresholds }: Panel, curves: readonly Curve[], box: Box): string {
  const sorted = curves.toSorted((a, b) => lastOf(b) - lastOf(a))
  const rows = Math.max(1, Math.floor(box.height / 17))
  const shown = sorted.length > rows ? sorted.slice(0, rows - 1) : sorted
  const height = Math.min(barHeightMax, box.height / Math.max(1, Math.min(sorted.length, rows)))
  const most = Math.max(...shown.map(lastOf), 1e-9)
  const nameWidth = box.width * 0.55
  const valueWidth = 56
  const drawn = shown.map((curve, index) => {
    const value = lastOf(curve)
    const y = box.y + index * height
    const fill = thresholds === undefined ? colorOf(index) : judge(value, thresholds)
    const width = Math.max(1, (value / most) * (box.width - nameWidth - valueWidth - 16))
    return (
      write(cut(curve.name, nameWidth - 8, 10), box.x + nameWidth, y + height - 6, { size: 10, anchor: 'end' }) +
      `<rect x="${round(box.x + nameWidth + 6)}" y="${round(y + 3)}" width="${round(width)}" height="${round(height - 6)}" fill="${fill}"/>` +
      write(format(value, unit), box.x + nameWidth + 12 + width, y + height - 6, { size: 10 })
    )
  })
  const rest = sorted.length - shown.length
  const more =
    rest > 0
      ? write(`and ${rest} more`, box.x + nameWidth, box.y + rows * height - 6, {
          size: 10,
          fill: colors.faint,
          anchor: 'end',
        })
      : ''
  return drawn.join('') + more
}
