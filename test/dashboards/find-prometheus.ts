// Whether the machine has a Prometheus.
import { execFileSync } from 'node:child_process'
import { reportSkip } from '../support/skips.ts'

/** Why this file cannot run here, reported once. */
export function findMissingPrometheus(file: string): string | undefined {
  try {
    execFileSync('prometheus', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    const reason = 'prometheus is not in $PATH'
    reportSkip({ matching: file, reason })
    return reason
  }
}
