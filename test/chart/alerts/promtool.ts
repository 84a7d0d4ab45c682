import { execFileSync } from 'node:child_process'
import { reportSkip } from '../../support/skips.ts'

/** Why alerts cannot be tested here; the reason is reported once a file. */
export function findMissingPromtool(): string | undefined {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    const reason = 'promtool is not in $PATH'
    reportSkip({ matching: 'test/chart/alerts', reason })
    return reason
  }
}
