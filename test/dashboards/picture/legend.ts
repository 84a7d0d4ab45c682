// Legend below the curves; names that do not fit are counted.
import { colorOf, colors } from './colors.ts'
import type { Box, Curve } from './drawing.ts'
import { cut, round, widthOf, write } from './text.ts'

const lineHeight = 15
const linesMax = 3
const size = 10
const markWidth = 22
const moreWidth = 70

export type Legend = { readonly drawing: string; readonly height: number }

export function drawLegend(curves: readonly Curve[], box: Box): Legend {
  const right = box.x + box.width
  const start = box.x + 8
  const lines: string[] = ['']
  let left = start
  for (const [index, { name }] of curves.entries()) {
    const text = cut(name, box.width - 40, size)
    const width = markWidth + widthOf(text, size)
    if (left + width > right && left > start) {
      left = start
      lines.push('')
    }
    const rest = curves.length - index
    const isFull = lines.length === linesMax && left + width + moreWidth > right && rest > 1
    const drawn = isFull
      ? write(`and ${rest} more`, { x: left, y: 0, size, fill: colors.faint })
      : `<path d="M${round(left)} -4h12" stroke="${colorOf(index)}" stroke-width="3"/>` +
        write(text, { x: left + 16, y: 0, size })
    lines.push(`${lines.pop()}${drawn}`)
    if (isFull) break
    left += width
  }
  const height = lines.length * lineHeight
  const drawing = lines.map((line, index) => {
    const y = box.y + box.height - height + (index + 1) * lineHeight - 4
    return `<g transform="translate(0 ${round(y)})">${line}</g>`
  })
  return { drawing: drawing.join(''), height }
}
