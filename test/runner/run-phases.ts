// Runs phases one after the other, all of them also when one fails, and then each failed test file once more, alone.
//
//   first run   second run   the file is
//   passes      –            passed
//   fails       passes       flaky: named in the summary, and the run is green
//   fails       fails        failed
//
// More than three files that fail at first are no stumble: none runs again, and the run is red.
import { describeMachine, type Machine } from './machine.ts'
import type { Phase, PhaseResult } from './phase.ts'
import type { TestFile } from './test-file.ts'

const flakyFilesMax = 3

type Options = {
  readonly say: (text: string) => void
  readonly readMachine: () => Machine
  /** Ends the phase in progress; no other phase begins. */
  readonly signal?: AbortSignal
}

export type Outcome = {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Lines for the end of the output: phases with their times, skip reasons, flaky and failed tests. */
  readonly summary: readonly string[]
}

type Stumble = { readonly phase: Phase; readonly file: TestFile }

export async function runPhases(phases: readonly Phase[], options: Options): Promise<Outcome> {
  const { say, readMachine, signal = new AbortController().signal } = options
  const lines: string[] = []
  const time: Time = async (name, run) => {
    say(`\n== ${name}\n`)
    const begun = performance.now()
    const result = await run(signal)
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
    const verdict = result.failed > 0 ? `FAILED   ${describeMachine(readMachine())}` : 'ok'
    lines.push(`${name.padEnd(18)} ${seconds.padStart(7)} s   ${verdict}`)
    return result
  }

  const results: PhaseResult[] = []
  const stumbles: Stumble[] = []
  for (const phase of phases) {
    if (signal.aborted) break
    const result = await time(phase.name, phase.run)
    results.push(result)
    stumbles.push(...result.failedFiles.map((file) => ({ phase, file })))
  }
  const isRepeated = stumbles.length <= flakyFilesMax && !signal.aborted
  const seconds = isRepeated ? await repeat(stumbles, time, signal) : []
  const passedNow = seconds.filter(({ result }) => result.failed === 0 && result.passed > 0)
  const isFlaky = ({ file }: Stumble): boolean => passedNow.some(({ stumble }) => stumble.file === file)

  const skips = results.flatMap((result) => result.skips)
  const flaky = stumbles.filter(isFlaky).flatMap(({ file }) => file.failures)
  const failures = stumbles.filter((stumble) => !isFlaky(stumble)).flatMap(({ file }) => file.failures)
  const summary = [
    ...lines,
    ...skips.map(([reason, count]) => `${count} skipped: ${reason}`),
    ...flaky.map((line) => `flaky: ${line}`),
    ...[...results.flatMap((result) => result.failures), ...failures].map((line) => `failed: ${line}`),
    ...(isRepeated || signal.aborted
      ? []
      : [`${stumbles.length} test files failed, more than ${flakyFilesMax}, so none ran again`]),
  ]
  const first = { passed: sum(results, ({ passed }) => passed), failed: sum(results, ({ failed }) => failed) }
  const gained = sum(passedNow, ({ result, stumble }) => result.passed - stumble.file.passed)
  const forgiven = sum(passedNow, ({ stumble }) => stumble.file.failed)
  const skipped = sum(skips, ([, count]) => count)
  return { passed: first.passed + gained, failed: first.failed - forgiven, skipped, summary }
}

type Time = (name: string, run: (signal: AbortSignal) => Promise<PhaseResult>) => Promise<PhaseResult>

async function repeat(stumbles: readonly Stumble[], time: Time, signal: AbortSignal) {
  const repeated: { readonly stumble: Stumble; readonly result: PhaseResult }[] = []
  for (const stumble of stumbles) {
    const { phase, file } = stumble
    const { runFile } = phase
    if (!runFile || signal.aborted) continue
    const result = await time(`again, alone: ${file.path.split('/').at(-1)}`, () => runFile(file.path, signal))
    repeated.push({ stumble, result })
  }
  return repeated
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0)
