// How failed logins slow down the next (D15): pure, so that its table can be tested. A reset of the password, a right
// one, or a day without a failure ends it; nobody is locked out forever, and another client network is let in at once.

/** Failures of one account from one client network that cost nothing. */
const freeFailures = 4
/** Longest wait in seconds: a quarter of an hour. */
const waitMax = 900

/** Seconds until the next password from this network is judged: 0, 0, 0, 0, 1, 2, 4, … 900. */
export const waitSecondsAfter = (failures: number): number =>
  failures <= freeFailures ? 0 : Math.min(waitMax, 2 ** (failures - freeFailures - 1))

/** Failures of one account from all networks before its answers slow down, and before its owner is told. */
const quickFailures = 10
export const tellOwnerAfter = 20
/** Slowest answer in milliseconds. */
const slowMax = 2_000

/** Milliseconds that an answer takes at least: 200 more for each failure from the 11th on, 2 s from the 20th. */
export const answerMsAfter = (failures: number): number =>
  Math.min(slowMax, Math.max(0, failures - quickFailures) * 200)
