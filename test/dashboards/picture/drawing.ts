// What all drawings share: colours like Grafana's, text whose width is known well enough, numbers with their unit.
import type { Panel } from '@matte/generate/chart/dashboards/panel'

/** A series with the name that Grafana gives it. */
export type Curve = { readonly name: string; readonly points: readonly (readonly [seconds: number, value: number])[] }

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

export const colors = { page: '#111217', panel: '#181b1f', edge: '#2c3235', text: '#ccccdc', faint: '#8e8e99' } as const

const palette = [
  '#73bf69',
  '#f2cc0c',
  '#8ab8ff',
  '#ff780a',
  '#f2495c',
  '#5794f2',
  '#b877d9',
  '#705da0',
  '#37872d',
  '#fade2a',
]
const named = { green: '#73bf69', orange: '#ff9830', red: '#f2495c' } as const

export const colorOf = (index: number): string => palette[index % palette.length] ?? colors.text

/** Of a value by the panel's thresholds. */
export function judge(value: number, thresholds: Panel['thresholds'] = []): string {
  const { color = 'green' } = thresholds.findLast(({ from }) => value >= from) ?? {}
  return named[color]
}

export const colorNamed = (color: keyof typeof named): string => named[color]

/** DejaVu Sans is about so wide. */
const characterWidth = 0.6

export const widthOf = (text: string, size: number): number => text.length * size * characterWidth

export function cut(text: string, width: number, size: number): string {
  const fits = Math.floor(width / (size * characterWidth))
  return text.length <= fits ? text : `${text.slice(0, Math.max(1, fits - 1))}…`
}

type TextOptions = {
  readonly size?: number
  readonly fill?: string
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly bold?: boolean
}

export function write(text: string, x: number, y: number, options: TextOptions = {}): string {
  const { size = 11, fill = colors.text, anchor = 'start', bold = false } = options
  const weight = bold ? ' font-weight="bold"' : ''
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<text x="${round(x)}" y="${round(y)}" font-size="${size}" fill="${fill}" text-anchor="${anchor}"${weight}>${safe}</text>`
}

export const round = (value: number): number => Math.round(value * 10) / 10

const sizes = [
  [1 << 30, 'GiB'],
  [1 << 20, 'MiB'],
  [1 << 10, 'KiB'],
  [1, 'B'],
] as const
const times = [
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
  [0.001, 'ms'],
] as const

export function format(value: number, unit: Panel['unit']): string {
  if (!Number.isFinite(value)) return 'none'
  if (unit === 'percentunit') return `${digits(value * 100)} %`
  if (unit === 'ops') return `${digits(value)}/s`
  if (unit !== 's' && unit !== 'bytes') return digits(value)
  const steps = unit === 's' ? times : sizes
  const [factor, name] = steps.find(([least]) => Math.abs(value) >= least) ?? [1, unit === 's' ? 's' : 'B']
  return `${digits(value / factor)} ${name}`
}

function digits(value: number): string {
  const size = Math.abs(value)
  if (size === 0) return '0'
  const places = size >= 100 || Number.isInteger(value) ? 0 : size >= 1 ? 1 : 3
  return String(Number(value.toFixed(places)))
}
