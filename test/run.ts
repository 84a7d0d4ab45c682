// `make check` and `make test`: runs the phases one after the other, all of them also when one fails, reports how long
// each took, how much of the disk was free after it, why tests were skipped and which failed, and closes with one line
// over all: `N passed, N failed, N skipped`. A phase that is no test run counts as one test.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listFailures } from './support/report/failures.ts'
import { countSkips, readSkipReasons, skipReasonsVariable, type TestReport } from './support/report/skips.ts'

type Counts = {
  readonly passed: number
  readonly failed: number
  /** Skipped tests by their reason. */
  readonly skips: readonly (readonly [reason: string, count: number])[]
  /** A line for each failed test. */
  readonly failures: readonly string[]
}
type Phase = { readonly name: string; readonly run: () => Promise<Counts> }

const success: Counts = { passed: 1, failed: 0, skips: [], failures: [] }
const failure: Counts = { passed: 0, failed: 1, skips: [], failures: [] }
const resultsDir = mkdtempSync(join(tmpdir(), 'matte-results-'))
process.once('exit', () => rmSync(resultsDir, { recursive: true, force: true }))

const groups: Readonly<Record<string, readonly Phase[]>> = {
  check: [
    tool('types', 'tsc', ['--noEmit']),
    tool('lint and format', 'biome', [
      'ci',
      '--error-on-warnings',
      `--colors=${process.stdout.isTTY ? 'force' : 'off'}`,
    ]),
    tool('unused code', 'knip', ['--no-progress']),
    tool('house', 'node', ['test/house/main.ts']),
    tool('shell', 'node', ['test/house/check-shell.ts']),
    tool('generated files', 'node', ['docs/generate/generate.ts', '--check']),
    tool('API contract', 'node', ['docs/generate/lint-contract.ts']),
    tool('references', 'node', ['docs/generate/check-references.ts']),
    tests('unit'),
  ],
  sim: [tool('scaling rule', 'node', ['test/sim/main.ts'])],
  int: [tests('int')],
  chart: [tests('chart')],
  install: [tests('cluster', ['test/cluster/install.test.ts'])],
}

const phases = process.argv.slice(2).flatMap((name) => {
  const group = groups[name]
  if (!group) throw new Error(`no such group of phases: ${name}. There are ${Object.keys(groups).join(', ')}`)
  return group
})

const summary: string[] = []
const results: Counts[] = []
for (const phase of phases) {
  process.stdout.write(`\n== ${phase.name}\n`)
  const begun = performance.now()
  const counts = await phase.run()
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  results.push(counts)
  const verdict = counts.failed > 0 ? 'FAILED' : 'ok'
  // A disk that fills up makes the servers refuse what they otherwise take, in tests that say nothing of a disk.
  const { bavail, bsize } = statfsSync(tmpdir())
  const free = `${((bavail * bsize) / 1e9).toFixed(1)} GB free`
  summary.push(`${phase.name.padEnd(18)} ${seconds.padStart(7)} s   ${verdict.padEnd(6)}   ${free}`)
}

const skips = results.flatMap((counts) => counts.skips)
summary.push(...skips.map(([reason, count]) => `${count} skipped: ${reason}`))
summary.push(...results.flatMap((counts) => counts.failures))
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
const passed = sum(results.map((counts) => counts.passed))
const failed = sum(results.map((counts) => counts.failed))
const skipped = sum(skips.map(([, count]) => count))
process.stdout.write(`\n${summary.join('\n')}\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
process.exitCode = failed > 0 ? 1 : 0

function tool(name: string, command: string, args: readonly string[]): Phase {
  return { name, run: async () => ((await succeeds(command, args)) ? success : failure) }
}

function tests(project: string, files: readonly string[] = []): Phase {
  const file = join(resultsDir, `${project}.json`)
  const reasonsFile = join(resultsDir, `${project}.skips`)
  const args = [
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${file}`,
    ...files,
  ]
  return {
    name: `${project} tests`,
    run: async () => {
      const succeeded = await succeeds('vitest', args, { [skipReasonsVariable]: reasonsFile })
      const counts = readCounts(file, reasonsFile)
      // A run can fail with no failed test: a file that does not load, an unhandled error, servers that do not start.
      return succeeded || counts.failed > 0 ? counts : { ...counts, failed: 1 }
    },
  }
}

function readCounts(file: string, reasonsFile: string): Counts {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as TestReport & {
      readonly numPassedTests: number
      readonly numFailedTests: number
    }
    const { numPassedTests: passed, numFailedTests: failed } = report
    return { passed, failed, skips: countSkips(report, readSkipReasons(reasonsFile)), failures: listFailures(report) }
  } catch {
    return failure // the run ended before it could write a report
  }
}

function succeeds(command: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...variables } })
    child.on('error', (error) => {
      process.stderr.write(`cannot run ${command}: ${error.message}\n`)
      resolve(false)
    })
    child.on('close', (code) => resolve(code === 0))
  })
}
