// The tables as Markdown.
import { type CellResults, missedPercent, scalerNames, startUps, type Verdict } from './comparison.ts'
import type { PriceTable } from './prices.ts'
import type { Cell, Result } from './run-cell.ts'

const titleOf = ({ trace, startSeconds }: Cell): string => `${trace} D=${startSeconds}`

/** Missed % / pod-seconds ÷ the oracle's. */
const formatResult = (result: Result, oracle: Result): string => {
  const missed = missedPercent(result)
  return `${missed.toFixed(missed < 10 ? 1 : 0)} / ${(result.podSeconds / oracle.podSeconds).toFixed(2)}`
}

export function formatComparison(cells: readonly CellResults[]): string {
  const rows = scalerNames.map((name) => [
    name,
    ...cells.map(({ results }) => formatResult(results[name], results.oracle)),
  ])
  return formatTable(['missed % / pod-seconds', ...cells.map(titleOf)], rows)
}

/** Reaction time of each scaler to the step, and the most pods that it wants. */
export function formatStep(cells: readonly CellResults[]): string {
  const steps = cells.filter(({ trace }) => trace === 'step')
  const rows = scalerNames
    .filter((name) => name !== 'oracle')
    .map((name) => [
      name,
      `${steps[0]?.results[name].decisionSeconds.toFixed(1)} s`,
      ...steps.map(({ results }) => results[name].peak.toFixed(0)),
    ])
  return formatTable(['on the step', 'first wants more after', ...startUps.map((d) => `peak wanted, D=${d}`)], rows)
}

export function formatPrices({ cells, oracle, prices }: PriceTable): string {
  const rows = prices.map(({ setting, results }) => [
    setting,
    ...results.map((result, index) => formatResult(result, oracle[index] ?? result)),
  ])
  return formatTable(['missed % / pod-seconds', ...cells.map(titleOf)], rows)
}

export const formatVerdicts = (verdicts: readonly Verdict[]): string =>
  verdicts.map(({ target, measured, isHeld }) => `${isHeld ? 'held  ' : 'MISSED'}  ${target}: ${measured}`).join('\n')

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
