// What a dashboard is here: rows of panels, each a question with its queries. document.ts makes Grafana's JSON of it,
// and the tests run the same queries against a Prometheus.

/** Grafana's names of units. `none` is a whole number: what a rate makes of counts is rounded. */
type Unit = 's' | 'short' | 'percentunit' | 'ops' | 'bytes' | 'none'

export type Query = {
  /**
   * PromQL. Every selector has braces; those of the namespace and release that are looked at are added to it. `RATE`
   * is the shortest range that a rate can have, `RANGE` the time that the dashboard shows.
   */
  readonly expr: string
  /** Name of each series, its labels in double braces. */
  readonly legend: string
}

/** The value from which a panel turns to this colour. */
export type Threshold = { readonly from: number; readonly color: 'green' | 'orange' | 'red' }

export type Panel = {
  readonly title: string
  /** What it shows and how to read it: the panel's description. */
  readonly sentence: string
  /** `stat`: the value now. `bars`: a bar a series, over the time shown. */
  readonly kind: 'stat' | 'lines' | 'stack' | 'bars'
  readonly unit: Unit
  readonly queries: readonly Query[]
  /** In order. Below the first it is green, unless that starts at `-Infinity`. */
  readonly thresholds?: readonly Threshold[]
  /** Of 24 columns, for a `stat`. */
  readonly width?: number
  /** Alerts whose runbooks say what to do when it looks wrong. */
  readonly runbooks?: readonly string[]
  /** Its metrics come from a controller with TRITON_POOLS=on, so a test needs a cluster to see them. */
  readonly needs?: 'pools'
  /** Why a healthy service may have no series to show. */
  readonly emptyBecause?: string
}

export type Row = { readonly title: string; readonly panels: readonly Panel[] }

export type DashboardSource = {
  readonly uid: `matte-${string}`
  readonly title: string
  readonly sentence: string
  readonly rows: readonly Row[]
}
