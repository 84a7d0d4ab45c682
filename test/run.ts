// `make check` and `make test`: runs the phases one after the other, all of them also when one fails, says how long
// each took, and closes with one line over all: `N passed, N failed`. A phase that is no test run counts as one test.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Counts = { readonly passed: number; readonly failed: number }
type Phase = { readonly name: string; readonly run: () => Promise<Counts> }

const failure: Counts = { passed: 0, failed: 1 }
const resultsDir = mkdtempSync(join(tmpdir(), 'matte-results-'))

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
    tests('unit'),
  ],
  sim: [tool('scaling rule', 'node', ['test/sim/main.ts'])],
  int: [tests('int')],
}

const phases = process.argv.slice(2).flatMap((name) => {
  const group = groups[name]
  if (!group) throw new Error(`no such group of phases: ${name}. There are ${Object.keys(groups).join(', ')}`)
  return group
})

const summary: string[] = []
let passed = 0
let failed = 0
for (const phase of phases) {
  process.stdout.write(`\n== ${phase.name}\n`)
  const begun = performance.now()
  const counts = await phase.run()
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  passed += counts.passed
  failed += counts.failed
  const verdict = counts.failed > 0 ? 'FAILED' : 'ok'
  summary.push(`${phase.name.padEnd(18)} ${seconds.padStart(7)} s   ${verdict}`)
}
rmSync(resultsDir, { recursive: true, force: true })
process.stdout.write(`\n${summary.join('\n')}\n${passed} passed, ${failed} failed\n`)
process.exitCode = failed > 0 ? 1 : 0

function tool(name: string, command: string, args: readonly string[]): Phase {
  const run = async (): Promise<Counts> => ((await succeeds(command, args)) ? { passed: 1, failed: 0 } : failure)
  return { name, run }
}

function tests(project: string): Phase {
  const file = join(resultsDir, `${project}.json`)
  const args = ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  return {
    name: `${project} tests`,
    run: async () => {
      const succeeded = await succeeds('vitest', args)
      const counts = readCounts(file)
      // A run can fail with no failed test: a file that does not load, an unhandled error, servers that do not start.
      return succeeded || counts.failed > 0 ? counts : { ...counts, failed: 1 }
    },
  }
}

function readCounts(file: string): Counts {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as { numPassedTests?: number; numFailedTests?: number }
    return { passed: report.numPassedTests ?? 0, failed: report.numFailedTests ?? 0 }
  } catch {
    return failure // the run ended before it could write a report
  }
}

function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit' })
    child.on('error', (error) => {
      process.stderr.write(`cannot run ${command}: ${error.message}\n`)
      resolve(false)
    })
    child.on('close', (code) => resolve(code === 0))
  })
}
