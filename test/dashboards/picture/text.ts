// Text with an estimated width, so it can be cut.
import { colors } from './colors.ts'

/** Average width of DejaVu Sans; capitals are wider. */
const characterWidth = 0.6
const capitalWidth = 0.72

export const widthOf = (text: string, size: number): number =>
  [...text].reduce((sum, one) => sum + (/[A-Z]/.test(one) ? capitalWidth : characterWidth) * size, 0)

export function cut(text: string, width: number, size: number): string {
  const fits = Math.floor(width / (size * characterWidth))
  return text.length <= fits ? text : `${text.slice(0, Math.max(1, fits - 1))}…`
}

type TextOptions = {
  readonly x: number
  readonly y: number
  readonly size?: number
  readonly fill?: string
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly bold?: boolean
}

export function write(text: string, options: TextOptions): string {
  const { x, y, size = 11, fill = colors.text, anchor = 'start', bold = false } = options
  const weight = bold ? ' font-weight="bold"' : ''
  const style = `font-size="${size}" fill="${fill}" text-anchor="${anchor}"${weight}`
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<text x="${round(x)}" y="${round(y)}" ${style}>${safe}</text>`
}

export const round = (value: number): number => Math.round(value * 10) / 10
