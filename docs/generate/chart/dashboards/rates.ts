// Queries that many panels share: of counters, and of what every replica exposes.

/** Events a second, by labels. */
export const perSecond = (counter: string, by: string, matchers = ''): string =>
  `sum by (${by}) (rate(${counter}{${matchers}}[RATE]))`

/** The same, without series that have counted nothing in the time shown: of many labels most never do. */
export const perSecondSeen = (counter: string, by: string, matchers = ''): string =>
  `${perSecond(counter, by, matchers)} and ${inRange(counter, by, matchers)} > 0`

/** Events in the time that the dashboard shows, by labels. */
export const inRange = (counter: string, by: string, matchers = ''): string =>
  `sum by (${by}) (increase(${counter}{${matchers}}[RANGE]))`

/** Every replica exposes the same value of these, so that any one that is up is enough: one a release, then the sum. */
export const shared = (gauge: string, by: string): string =>
  `sum by (${by}) (max by (namespace, job, ${by}) (${gauge}{}))`
