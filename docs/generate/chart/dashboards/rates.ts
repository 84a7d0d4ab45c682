// Shared queries on counters, and on gauges that every replica exposes.

/** Events per second, by labels. */
export const perSecond = (counter: string, by: string, matchers = ''): string =>
  `sum by (${by}) (rate(${counter}{${matchers}}[RATE]))`

/** Events per second, without series that are 0 in the selected time. */
export const perSecondSeen = (counter: string, by: string, matchers = ''): string =>
  `${perSecond(counter, by, matchers)} and ${inRange(counter, by, matchers)} > 0`

/** Events in the selected time, by labels. */
export const inRange = (counter: string, by: string, matchers = ''): string =>
  `sum by (${by}) (increase(${counter}{${matchers}}[RANGE]))`

/** Gauges with the same value on every replica: one value per release, then the sum. */
export const shared = (gauge: string, by: string): string =>
  `sum by (${by}) (max by (namespace, job, ${by}) (${gauge}{}))`
