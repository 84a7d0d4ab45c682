/** What a ratio is to be; a row without one is printed for comparison only. */
export type Target = { readonly atLeast: number } | { readonly atMost: number }

/** A line of the benchmark's table. */
export type Row = {
  readonly name: string
  readonly ratio: number
  readonly target?: Target
  /** The absolute numbers behind the ratio. */
  readonly detail: string
}

/** False also for a ratio that is no number: what was not measured is not met. */
export function isMet({ ratio, target }: Row): boolean {
  if (target === undefined) return true
  return 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost
}

/** The table, and below it each row that missed its target. */
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
