/** Target of a ratio; a row without one is for comparison only. */
export type Target = { readonly atLeast: number } | { readonly atMost: number }

/** A row of the benchmark's table. */
export type Row = {
  readonly name: string
  readonly ratio: number
  readonly target?: Target
  /** The absolute numbers behind the ratio. */
  readonly detail: string
}

/** False also for NaN: an unmeasured ratio is not met. */
export function isMet({ ratio, target }: Row): boolean {
  if (target === undefined) return true
  return 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost
}

/** The table, followed by the rows that missed their targets. */
export function formatRows(rows: readonly Row[]): string {
  const missed = rows.filter((row) => !isMet(row))
  const lines = rows.map(
    (row) => `| ${row.name} | ${row.ratio.toFixed(3)}${verdictOf(row)} | ${textOf(row.target)} | ${row.detail} |`,
  )
  const verdict = missed.map(({ name, ratio, target }) => `missed: ${name}: ${ratio.toFixed(3)}, not ${textOf(target)}`)
  return ['| ratio | measured | target | numbers behind it |', '|---|---|---|---|', ...lines, '', ...verdict].join('\n')
}

const verdictOf = (row: Row): string => (isMet(row) ? '' : ' (missed)')

function textOf(target: Target | undefined): string {
  if (target === undefined) return '–'
  return 'atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`
}
