// Colours like Grafana's.
import type { Panel } from '@matte/generate/chart/dashboards/panel'

export const colors = { page: '#111217', panel: '#181b1f', edge: '#2c3235', text: '#ccccdc', faint: '#8e8e99' } as const

const palette = ['#73bf69', '#f2cc0c', '#8ab8ff', '#ff780a', '#f2495c', '#5794f2', '#b877d9', '#705da0', '#37872d']
const named = { green: '#73bf69', orange: '#ff9830', red: '#f2495c' } as const

export const colorOf = (index: number): string => palette[index % palette.length] ?? colors.text

/** Colour of a value by the panel's thresholds. */
export function judge(value: number, thresholds: Panel['thresholds'] = []): string {
  const { color = 'green' } = thresholds.findLast(({ from }) => value >= from) ?? {}
  return named[color]
}

export const colorNamed = (color: keyof typeof named): string => named[color]
