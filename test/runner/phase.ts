// A phase of a run: a program that succeeds or fails as a whole, or the tests of one vitest project.
import { readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { countSkips, readSkipReasons, skipReasonsVariable, type TestReport } from '../support/report/skips.ts'
import { runProgram } from './program.ts'
import { readTestFiles, type TestFile } from './test-file.ts'

export type PhaseResult = {
  readonly passed: number
  readonly failed: number
  /** One line for each failure that no single test file explains. */
  readonly failures: readonly string[]
  /** Skipped tests by their reason. */
  readonly skips: readonly (readonly [reason: string, count: number])[]
  /** Files that failed; `failed` counts their tests. */
  readonly failedFiles: readonly TestFile[]
}

export type Phase = {
  readonly name: string
  /** An aborted signal ends the program of the phase. */
  readonly run: (signal: AbortSignal) => Promise<PhaseResult>
  /** Runs one test file of this phase alone. */
  readonly runFile?: (path: string, signal: AbortSignal) => Promise<PhaseResult>
}

const nothing: PhaseResult = { passed: 0, failed: 0, failures: [], skips: [], failedFiles: [] }
const success: PhaseResult = { ...nothing, passed: 1 }
const failure = (line: string): PhaseResult => ({ ...nothing, failed: 1, failures: [line] })

/** A program that counts as one test. */
export function toolPhase(name: string, command: string, args: readonly string[]): Phase {
  const run = async (signal: AbortSignal) =>
    (await runProgram(command, args, { signal })) ? success : failure(`${name}: ${command} did not succeed`)
  return { name, run }
}

/** A phase that this machine cannot run; it counts as one skipped test. */
export const skippedPhase = (name: string, reason: string): Phase => ({
  name,
  run: async () => ({ ...nothing, skips: [[reason, 1]] }),
})

type TestPhase = {
  readonly project: string
  /** Files of the project to run; all by default. */
  readonly files?: readonly string[]
  /** Folder for vitest's reports. */
  readonly reportsDir: string
  /** Folder of the vitest configuration; the working directory by default. */
  readonly root?: string
}

export function testPhase({ project, files = [], reportsDir, root }: TestPhase): Phase {
  const name = `${project} tests`
  const reportFile = join(reportsDir, `${project}.json`)
  const reasonsFile = join(reportsDir, `${project}.skips`)
  const errorsFile = join(reportsDir, `${project}.errors`)
  const errorsReporter = join(import.meta.dirname, 'errors-reporter.ts')
  const options = ['--reporter=default', '--reporter=json', `--reporter=${errorsReporter}`]
  options.push(`--outputFile.json=${reportFile}`)
  if (root !== undefined) options.push('--root', root)

  const run = async (paths: readonly string[], signal: AbortSignal): Promise<PhaseResult> => {
    for (const file of [reportFile, reasonsFile, errorsFile]) rmSync(file, { force: true })
    const args = ['run', '--project', project, ...options, ...paths]
    const env = { [skipReasonsVariable]: reasonsFile, MATTE_ERRORS: errorsFile }
    const succeeded = await runProgram('vitest', args, { signal, env })
    const report = readJson<TestReport>(reportFile)
    if (report === undefined) return failure(`${name}: vitest ended without a report; its output says why`)
    const result = summarize(report, countSkips(report, readSkipReasons(reasonsFile)))
    // A run can fail without a failed file: an unhandled error, or servers that do not start or stop.
    const errors = readJson<readonly string[]>(errorsFile) ?? []
    const failures = errors.map((message) => `${name}: an error outside the tests: ${message}`)
    if (!succeeded && result.failed === 0 && errors.length === 0) failures.push(`${name}: see the output of vitest`)
    return { ...result, failed: result.failed + failures.length, failures }
  }
  const runFile = (path: string, signal: AbortSignal) => run([relative(root ?? process.cwd(), path)], signal)
  return { name, run: (signal) => run(files, signal), runFile }
}

function summarize(report: TestReport, skips: PhaseResult['skips']): PhaseResult {
  const files = readTestFiles(report)
  const failedFiles = files.filter(({ failed }) => failed > 0)
  return {
    ...nothing,
    passed: sum(files.map(({ passed }) => passed)),
    failed: sum(files.map(({ failed }) => failed)),
    failedFiles,
    skips,
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch {
    return undefined
  }
}
