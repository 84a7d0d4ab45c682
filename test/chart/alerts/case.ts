// A test case of an alert, in promtool's notation: one sample per minute; `0+2x30` adds two thirty times.

/** Labels in addition to those of the rule, with the severity, and the rendered description. */
type Firing = { readonly severity: 'critical' | 'warning'; readonly description: string } & Readonly<
  Record<string, string>
>

export type Case = {
  readonly alert: string
  /** Situation; completes the sentence "fires when …" or "is silent when …". */
  readonly when: string
  /** Series by name and labels; without a namespace they get the release's. */
  readonly series: Readonly<Record<string, string>>
  readonly at: string
  /** All alerts with this name that fire at that time. */
  readonly fires: readonly Firing[]
}
