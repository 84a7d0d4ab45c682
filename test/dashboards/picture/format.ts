// Formats numbers with their unit, as Grafana does.
import type { Panel } from '@matte/generate/chart/dashboards/panel'

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
