/**
 * Mann-Whitney statistic divided by the number of pairs: how often a value of `a` is greater than one of `b`, ties
 * counted half. 0.5 if ranks cannot distinguish them. Outliers count by rank only.
 */
export function advantage(a: readonly number[], b: readonly number[]): number {
  const wins = a.flatMap((x) => b.map((y) => (x > y ? 1 : x === y ? 0.5 : 0)))
  return wins.reduce<number>((sum, win) => sum + win, 0) / wins.length
}
