import { describe, expect, it } from 'vitest'
import type { Scores } from '../metrics/measure.ts'
import { formatTables, type Row } from './table.ts'
import { judge } from './targets.ts'

const plainScores: Scores = { sad: 3, mse: 0.01, mad: 0.02, grad: 10, conn: 3, iou: 0.9, boundary: 0.8, fringe: 40 }
const goodScores: Scores = { ...plainScores, mad: 0.015, grad: 7.5, iou: 0.92, fringe: 20 }

const row = (picture: string, variant: string, scores: Scores): Row => ({ picture, kind: 'hair', variant, scores })

/** Two pictures; `rembg` equals the stretched mask and did only the first. */
const rowsOf = (ours: Scores): Row[] => [
  ...['a', 'b'].map((picture) => row(picture, 'resize', plainScores)),
  row('a', 'rembg', plainScores),
  row('a', 'ours', ours),
  row('b', 'ours', goodScores),
]

const missed = (rows: readonly Row[]): string[] =>
  judge(rows, 'ours')
    .filter(({ isMet }) => !isMet)
    .map(({ name }) => name)

describe('judge', () => {
  it('finds all targets met at exactly their limits', () => {
    expect(missed(rowsOf(goodScores))).toEqual([])
    expect(judge(rowsOf(goodScores), 'ours')).toHaveLength(9)
  })

  it.each<[Partial<Scores>, string[]]>([
    [{ grad: 7.6 }, ['grad ÷ that of resize ≤ 0.75']],
    [{ fringe: 20.1 }, ['fringe ÷ that of resize ≤ 0.5']],
    // Worse than rembg on the shared picture; not worse than the stretched mask over both.
    [{ iou: 0.899 }, ['iou ≥ that of rembg']],
    [{ mad: 0.021 }, ['mad ÷ that of rembg ≤ 1']],
    [{ mad: 0.0221 }, ['mad ÷ that of rembg ≤ 1', "no picture's mad ÷ that of resize above 1.1"]],
  ])('misses with %o', (worse, names) => {
    expect(missed(rowsOf({ ...goodScores, ...worse }))).toEqual(names)
  })

  it('ignores invisible errors', () => {
    const tiny = { ...plainScores, mad: 0.0001, grad: 0.1 }
    const rows = [row('a', 'resize', tiny), row('a', 'ours', { ...tiny, mad: 0.0019, grad: 0.49, fringe: 1 })]
    expect(missed(rows).filter((name) => name.startsWith('no picture'))).toEqual([])
  })
})

describe('formatTables', () => {
  it('divides by the stretched mask on the pictures that a program did, and shows their number', () => {
    const easy = { ...plainScores, mad: 0.002 }
    const rows = [row('a', 'resize', plainScores), row('b', 'resize', easy), row('a', 'rembg', plainScores)]
    const lines = formatTables(rows).split('\n')
    expect(lines.find((line) => line.includes('rembg (1)'))).toContain('×1.000')
    expect(lines.find((line) => line.includes('  resize'))).toContain('0.0110')
  })

  it('has a block without pictures on which the network failed', () => {
    const lost = { ...plainScores, iou: 0.2 }
    const rows = [row('a', 'resize', plainScores), row('b', 'resize', lost)]
    expect(formatTables(rows)).toContain('all with a found subject (1)')
    expect(formatTables(rows.slice(0, 1))).not.toContain('found subject')
  })
})
