// Source of a dashboard: rows of panels with their queries. document.ts converts it to Grafana's JSON, and the tests
// run the same queries against a Prometheus.

/** Grafana's units. `none` rounds to a whole number. */
type Unit = 's' | 'short' | 'percentunit' | 'ops' | 'bytes' | 'none'

export type Query = {
  /**
   * PromQL. Every selector has braces; matchers for the selected namespace and release are added. `RATE` is the
   * shortest range of a rate, `RANGE` the selected time of the dashboard.
   */
  readonly expr: string
  /** Name of each series, its labels in double braces. */
  readonly legend: string
}

/** Lowest value with this colour. */
export type Threshold = { readonly from: number; readonly color: 'green' | 'orange' | 'red' }

export type Panel = {
  readonly title: string
  /** The panel's description. */
  readonly sentence: string
  /** `stat`: the current value. `bars`: one bar per series, over the selected time. */
  readonly kind: 'stat' | 'lines' | 'stack' | 'bars'
  readonly unit: Unit
  readonly queries: readonly Query[]
  /** In ascending order. Values below the first are green. */
  readonly thresholds?: readonly Threshold[]
  /** Width of a `stat`, in 24ths of a line. */
  readonly width?: number
  /** Alerts whose runbooks the panel links to. */
  readonly runbooks?: readonly string[]
  /** The metrics come from an operator, so tests of the panel need a cluster. */
  readonly needs?: 'pools'
  /** Reason why a healthy service may have no data here. */
  readonly emptyBecause?: string
}

export type Row = { readonly title: string; readonly panels: readonly Panel[] }

export type DashboardSource = {
  readonly uid: `matte-${string}`
  readonly title: string
  readonly sentence: string
  readonly rows: readonly Row[]
}
