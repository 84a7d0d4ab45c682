// One test file in vitest's JSON report.
import type { TestReport } from '../support/report/skips.ts'
import { listFailures } from './failures.ts'

export type TestFile = {
  readonly path: string
  readonly passed: number
  /** Failed tests; 1 for a file that failed without one, such as one that does not load. */
  readonly failed: number
  /** A line for each failed test. */
  readonly failures: readonly string[]
}

export const readTestFiles = (report: TestReport): TestFile[] =>
  report.testResults.map((result) => {
    const count = (status: string): number => result.assertionResults.filter((test) => test.status === status).length
    const failures = listFailures({ testResults: [result] })
    return { path: result.name, passed: count('passed'), failed: failures.length, failures }
  })
