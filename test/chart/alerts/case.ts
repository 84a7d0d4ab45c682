// A case of an alert, in promtool's notation: one sample a minute, `0+2x30` counts up by two thirty times.

/** Labels of an alert beyond those of its rule, its severity, and its description with the numbers. */
type Firing = { readonly severity: 'critical' | 'warning'; readonly description: string } & Readonly<
  Record<string, string>
>

export type Case = {
  readonly alert: string
  /** What is the case; ends the sentence "fires …" or "is silent …". */
  readonly when: string
  /** Series by name and labels; those without a namespace are the release's. */
  readonly series: Readonly<Record<string, string>>
  readonly at: string
  /** All that fire by this name at that time. */
  readonly fires: readonly Firing[]
}
