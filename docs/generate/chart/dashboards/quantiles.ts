// Shared queries on histograms.
import type { Query } from './panel.ts'

type Of = { readonly by?: readonly string[]; readonly matchers?: string }

/** The quantile of a histogram over all processes. */
export function quantile(share: number, histogram: string, { by = [], matchers = '' }: Of = {}): string {
  const labels = ['le', ...by].join(', ')
  return `histogram_quantile(${share}, sum by (${labels}) (rate(${histogram}_bucket{${matchers}}[RATE])))`
}

/** The median and the tails of a histogram, one series each. */
export const quantiles = (histogram: string): readonly Query[] =>
  [0.5, 0.95, 0.99].map((share) => ({
    expr: quantile(share, histogram),
    legend: `p${share * 100}`,
  }))

/** Removes the common prefix of most routes from the legend. */
export const shortRoutes = (expr: string): string =>
  `label_replace(${expr}, "route", "$1", "route", "/api/v1/open/developer(/.*)")`
