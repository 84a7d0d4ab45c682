import { relative } from 'node:path'
import type { TestReport } from '../support/report/skips.ts'

const messageMax = 600

/** One line for each failed test (file, title, message), and one for each file that failed without a failed test. */
export const listFailures = (report: TestReport): string[] =>
  report.testResults.flatMap(({ name: path, status: ofFile, message, assertionResults }) => {
    const file = relative(process.cwd(), path)
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0 && ofFile === 'failed') return [`${file}: ${inOneLine(message)}`]
    return failed.map(
      ({ fullName, failureMessages }) => `${file}: ${fullName.trim()}: ${inOneLine(failureMessages?.[0])}`,
    )
  })

/** The message without its stack. Only the last lines of a run may be kept, so each failure takes one line. */
const inOneLine = (text = ''): string => {
  const [message = ''] = text.split(/\n\s+at /)
  return message.replace(/\s+/g, ' ').slice(0, messageMax)
}
