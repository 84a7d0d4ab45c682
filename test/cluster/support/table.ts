// Tables of the output, and its lines with the time since the file began.

import { countPhases } from '../account/phases.ts'
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

/** What the client saw in each phase. */
export function printPhases(lines: readonly Line[]): void {
  const phases = countPhases(lines).filter(({ name }) => name !== 'end')
  const sum = (field: 'answered' | 'accepted' | 'ended' | 'webhooks' | 'waits' | 'outages' | 'otherErrors'): number =>
    phases.reduce((total, phase) => total + phase[field], 0)
  printTable([
    ['phase', 'answered', 'accepted', 'ended', 'webhooks', '409, 429', 'outage', 'other', 'broken', 'slow', 'cut'],
    ...phases.map((phase) => [
      ...[phase.name, phase.answered, phase.accepted, phase.ended, phase.webhooks, phase.waits, phase.outages],
      ...[phase.otherErrors, phase.broken, phase.slowWhole, phase.slowCut],
    ]),
    [
      'all',
      sum('answered'),
      sum('accepted'),
      sum('ended'),
      sum('webhooks'),
      sum('waits'),
      sum('outages'),
      sum('otherErrors'),
      '',
      '',
      '',
    ],
  ])
}
