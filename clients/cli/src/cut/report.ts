// Prints the outcome of each image: a bar on a terminal, lines elsewhere, JSON on request.
import type { Progress } from 'matte-client'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { exitCodeOfError, renderError, showError } from '../print/error.ts'
import { formatBytes, formatDuration, plural } from '../print/format.ts'
import type { Output } from '../print/output.ts'
import { renderProgress, renderStep } from '../print/progress-line.ts'
import { toPlain } from '../print/table.ts'

export type Outcome = {
  readonly input: string
  readonly output: string
  /** Size of the input. */
  readonly sizeBytes?: number | undefined
} & (
  | {
      readonly status: 'succeeded'
      readonly taskId: string
      readonly resumed: boolean
      readonly resultBytes: number
      readonly width: number | null
      readonly height: number | null
    }
  | { readonly status: 'skipped'; readonly reason: string }
  | { readonly status: 'failed'; readonly error: unknown }
)

export type Report = {
  /** Steps of a single image on a terminal. */
  readonly progress?: ((progress: Progress) => void) | undefined
  add(outcome: Outcome): void
  /** Prints the summary; the code is that of the whole run. */
  end(stopped: { readonly by: unknown } | undefined): ExitCode
}

type Counts = { total: number; succeeded: number; failed: number; skipped: number; resumed: number; bytes: number }

const redrawMs = 100

/** Without `total` the run has no end, such as with `--watch`, so there is no bar. A single image has steps instead. */
export function createReport(out: Output, total: number | undefined): Report {
  const counts: Counts = { total: total ?? 0, succeeded: 0, failed: 0, skipped: 0, resumed: 0, bytes: 0 }
  const startedMs = performance.now()
  const isShown = process.stderr.isTTY && !out.json && !out.quiet
  const bar = isShown && total !== undefined && total > 1 ? startBar(counts, startedMs) : undefined
  const steps = isShown && total === 1 ? createSteps() : undefined
  const failures: unknown[] = []
  const print = (outcome: Outcome): void => {
    if (out.json) out.record(toRecord(outcome))
    else if (outcome.status === 'failed') process.stderr.write(`${renderFailure(outcome)}\n`)
    else if (!out.quiet) out.line(describe(outcome))
  }
  return {
    progress: steps?.draw,
    add: (outcome) => {
      steps?.clear()
      count(counts, outcome)
      if (outcome.status === 'failed') failures.push(outcome.error)
      if (bar !== undefined && outcome.status === 'failed') bar.clear()
      if (bar === undefined || outcome.status === 'failed') print(outcome)
    },
    end: (stopped) => {
      bar?.end()
      steps?.clear()
      if (!out.json && total !== 1) out.note(summarize(counts, performance.now() - startedMs))
      if (stopped) {
        const error = showError(stopped.by)
        process.stderr.write(`${out.json ? JSON.stringify({ error }) : renderError(error)}\n`)
        return exitCodeOfError(stopped.by)
      }
      return exitCodeOfRun(counts, failures)
    },
  }
}

/** If every image failed by one cause, the code names the cause. */
function exitCodeOfRun({ succeeded, skipped, failed }: Counts, failures: readonly unknown[]): ExitCode {
  if (failed === 0) return exitCodes.ok
  const codes = new Set(failures.map(exitCodeOfError))
  const [only = exitCodes.someFailed] = codes
  return succeeded + skipped === 0 && codes.size === 1 ? only : exitCodes.someFailed
}

function count(counts: Counts, outcome: Outcome): void {
  counts[outcome.status] += 1
  if (outcome.status === 'succeeded' && outcome.resumed) counts.resumed += 1
  if (outcome.status !== 'skipped') counts.bytes += outcome.sizeBytes ?? 0
}

const clear = (): void => void process.stderr.write('\r\u001b[2K')

function createSteps() {
  let shown = ''
  const draw = (progress: Progress): void => {
    const text = renderStep(progress).slice(0, (process.stderr.columns || 80) - 1)
    if (text === shown) return
    clear()
    process.stderr.write(text)
    shown = text
  }
  return { draw, clear: () => shown !== '' && draw(arrived) }
}

const arrived: Progress = { state: 'done', loadedBytes: 0, totalBytes: undefined }

function startBar(counts: Counts, startedMs: number) {
  const draw = (): void => {
    const processed = counts.succeeded + counts.failed
    const state = {
      total: counts.total,
      done: processed + counts.skipped,
      failed: counts.failed,
      doneBytes: counts.bytes,
      processed,
      elapsedMs: performance.now() - startedMs,
    }
    process.stderr.write(`\r\u001b[2K${renderProgress(state, process.stderr.columns || 80)}`)
  }
  const timer = setInterval(draw, redrawMs)
  timer.unref()
  return {
    clear,
    draw,
    end: () => {
      clearInterval(timer)
      clear()
    },
  }
}

const renderFailure = ({ input, error }: Outcome & { readonly error: unknown }): string =>
  // A function, because a name can contain the patterns of a replacement.
  renderError(showError(error)).replace(/^matte: /, () => `${toPlain(input)}: `)

function describe(outcome: Exclude<Outcome, { readonly status: 'failed' }>): string {
  const arrow = toPlain(`${outcome.input} → ${outcome.output}`)
  if (outcome.status === 'skipped') return `${arrow}  skipped: ${outcome.reason}`
  const { width, height, resultBytes } = outcome
  const size = width === null || height === null ? '' : `${width}×${height}, `
  return `${arrow}  ${size}${formatBytes(resultBytes)}`
}

function toRecord(outcome: Outcome): object {
  if (outcome.status !== 'failed') return outcome
  return { ...outcome, error: showError(outcome.error) }
}

function summarize({ succeeded, failed, skipped, resumed, total }: Counts, elapsedMs: number): string {
  const left = Math.max(0, total - succeeded - failed - skipped)
  const parts = [
    `${plural(succeeded, 'image')} cut`,
    ...(resumed > 0 ? [`${resumed} of them from an earlier run`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(left > 0 ? [`${left} not processed`] : []),
  ]
  return `${parts.join(', ')} in ${formatDuration(elapsedMs)}`
}
