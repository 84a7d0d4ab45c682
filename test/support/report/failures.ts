import { relative } from 'node:path'
import type { TestReport } from './skips.ts'

const messageMax = 300

/**
 * A line for each failed test: its file, its title, and the first line of what went wrong. They stand below everything
 * else that a run printed, where a reader who sees only its end finds them.
 */
export const listFailures = (report: TestReport): string[] =>
  report.testResults.flatMap(({ name: path, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => {
        const [why = ''] = failureMessages?.[0]?.split('\n') ?? []
        return `failed: ${relative(process.cwd(), path)}: ${fullName.trim()}: ${why.slice(0, messageMax)}`
      }),
  )
