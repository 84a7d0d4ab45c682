// Reasons for skipped tests. Code that finds a missing program reports it here with a part of the path or title of the
// tests that need it; `test/run.ts` lists skipped tests by these reasons.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

type SkipReason = {
  /** Part of a file's path, or of a test's full title. */
  readonly matching: string
  readonly reason: string
}

/** Fields of vitest's JSON report that this file reads. */
export type TestReport = {
  readonly testResults: readonly {
    readonly name: string
    readonly status?: string
    /** Errors outside the tests. */
    readonly message?: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

/** File that collects the reasons of a run; unset when vitest was started by hand. */
export const skipReasonsVariable = 'MATTE_SKIP_REASONS'

export function reportSkip(skip: SkipReason): void {
  process.stdout.write(`[skipped] ${skip.matching}: ${skip.reason}\n`)
  const file = process.env[skipReasonsVariable]
  // One short line in one write, so concurrent test files do not interleave.
  if (file) appendFileSync(file, `${JSON.stringify(skip)}\n`)
}

export function readSkipReasons(file: string): SkipReason[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as SkipReason)
}

/** Number of skipped tests per reason, largest first. */
export function countSkips(report: TestReport, reasons: readonly SkipReason[]): [reason: string, count: number][] {
  const counts = new Map<string, number>()
  for (const { name: path, assertionResults } of report.testResults) {
    for (const { fullName, status } of assertionResults) {
      if (!['skipped', 'pending', 'todo', 'disabled'].includes(status)) continue
      const known = reasons.find(({ matching }) => path.includes(matching) || fullName.includes(matching))
      const reason = known?.reason ?? `no reason is given in ${path}`
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    }
  }
  return [...counts].sort(([, a], [, b]) => b - a)
}
