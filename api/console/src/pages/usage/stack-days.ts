import type { Series } from '../../ui/chart.tsx'

type Stacked = {
  readonly name: string
  readonly daily: readonly { readonly date: string; readonly totalTasks: number }[]
}

/** Bound of colours that a reader distinguishes in a stack. */
const seriesMax = 3
const tones = ['accent', 'good', 'soft'] as const

/** Tasks per day of the largest shares; the last series sums up the others. */
export function stackDays(shares: readonly Stacked[], days: readonly string[], others: string): Series[] {
  const isCut = shares.length > seriesMax
  const shown = shares.slice(0, isCut ? seriesMax - 1 : seriesMax).map((share) => ({ name: share.name, of: [share] }))
  const stacked = isCut ? [...shown, { name: others, of: shares.slice(seriesMax - 1) }] : shown
  return stacked.map(({ name, of }, index) => {
    const byDay = new Map<string, number>()
    for (const { daily } of of) {
      for (const { date, totalTasks } of daily) byDay.set(date, (byDay.get(date) ?? 0) + totalTasks)
    }
    return { name, values: days.map((day) => byDay.get(day) ?? 0), tone: tones[index] ?? 'soft' }
  })
}
