/**
 * How often one of `a` is greater than one of `b`, ties counted half: the statistic of Mann and Whitney, divided by the
 * number of pairs. 0.5 when ranks cannot tell them apart. Outliers count by their rank alone.
 */
export function advantage(a: readonly number[], b: readonly number[]): number {
  const wins = a.flatMap((x) => b.map((y) => (x > y ? 1 : x === y ? 0.5 : 0)))
  return wins.reduce<number>((sum, win) => sum + win, 0) / wins.length
}
