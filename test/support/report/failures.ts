import { relative } from 'node:path'
import type { TestReport } from './skips.ts'

const messageMax = 300

/**
 * A line for each failed test: its file, its title, and the first line of what went wrong; and one for each file that
 * failed without. They stand below everything else that a run printed, where a reader who sees only its end finds them.
 */
export const listFailures = (report: TestReport): string[] =>
  report.testResults.flatMap(({ name: path, status: ofFile, message, assertionResults }) => {
    const file = relative(process.cwd(), path)
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0 && ofFile === 'failed') return [`failed: ${file}: ${firstLine(message)}`]
    return failed.map(
      ({ fullName, failureMessages }) => `failed: ${file}: ${fullName.trim()}: ${firstLine(failureMessages?.[0])}`,
    )
  })

const firstLine = (text = ''): string => (text.split('\n')[0] ?? '').slice(0, messageMax)
