// Prints tables, and lines with the time since the file started.

import { countPhases, type PhaseCounts } from '../account/phases.ts'
import type { Line } from '../client/lines.ts'

const begun = performance.now()

export function print(line: string): void {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1).padStart(6)
  process.stdout.write(`[cluster ${seconds} s] ${line}\n`)
}

export const secondsSince = (then: number): string => `${((performance.now() - then) / 1_000).toFixed(1)} s`

export function printTable(rows: readonly (readonly (string | number)[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)))
  for (const row of rows) {
    const cells = row.map((cell, column) => {
      const text = String(cell)
      return column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0)
    })
    print(cells.join('  '))
  }
}

/** Calls and errors seen by the client in each phase. */
export function printPhases(lines: readonly Line[]): void {
  const rows = countPhases(lines)
    .filter(({ name }) => name !== 'end')
    .map(({ name, ...counts }) => [name, ...columns.map(([, read]) => read(counts))] as const)
  const sums = columns.map((_, index) => rows.reduce((total, row) => total + Number(row[index + 1]), 0))
  printTable([['phase', ...columns.map(([title]) => title)], ...rows, ['all', ...sums]])
}

const columns: readonly (readonly [title: string, read: (phase: Omit<PhaseCounts, 'name'>) => number])[] = [
  ['answered', ({ answered }) => answered],
  ['accepted', ({ accepted }) => accepted],
  ['ended', ({ ended }) => ended],
  ['webhooks', ({ webhooks }) => webhooks],
  ['409, 429', ({ waits }) => waits],
  ['outage', ({ outages }) => outages],
  ['other', ({ otherErrors }) => otherErrors.length],
  ['broken', ({ broken }) => broken.length],
  ['slow', ({ slowWhole }) => slowWhole],
  ['cut', ({ slowCut }) => slowCut],
]
