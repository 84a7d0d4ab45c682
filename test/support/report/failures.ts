import { relative } from 'node:path'
import type { TestReport } from './skips.ts'

const messageMax = 600

/**
 * A line for each failed test: its file, its title, and what went wrong, in one line; and one for each file that
 * failed without. They stand below everything else that a run printed, where a reader who sees only its end finds them.
 */
export const listFailures = (report: TestReport): string[] =>
  report.testResults.flatMap(({ name: path, status: ofFile, message, assertionResults }) => {
    const file = relative(process.cwd(), path)
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0 && ofFile === 'failed') return [`failed: ${file}: ${inOneLine(message)}`]
    return failed.map(
      ({ fullName, failureMessages }) => `failed: ${file}: ${fullName.trim()}: ${inOneLine(failureMessages?.[0])}`,
    )
  })

/** The message without its stack: an answer's body, or what a program wrote, stands below the first line. */
const inOneLine = (text = ''): string => {
  const [message = ''] = text.split(/\n\s+at /)
  return message.replace(/\s+/g, ' ').slice(0, messageMax)
}
