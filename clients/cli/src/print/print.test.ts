import { describe, expect, it } from 'vitest'
import { formatBytes, formatClock, formatDuration } from './format.ts'
import { renderProgress } from './progress-line.ts'
import { renderTable } from './table.ts'

describe('tables', () => {
  it('aligns texts to the left and numbers to the right', () => {
    const rows = [
      { name: 'a', count: 5 },
      { name: 'longer', count: 1_234 },
    ]
    const table = renderTable(rows, [
      { title: 'name', value: ({ name }) => name },
      { title: 'count', value: ({ count }) => count },
    ])
    expect(table).toBe('name    count\na           5\nlonger  1,234\n')
  })

  it('keeps escape codes of a value away from the terminal', () => {
    const table = renderTable([{ name: '\u001b[31mred\u0007' }], [{ title: 'name', value: ({ name }) => name }])
    expect(table).toBe('name\n [31mred\n')
  })

  it('marks an absent value', () => {
    expect(renderTable([{}], [{ title: 'took', value: () => null }])).toBe('took\n–\n')
  })
})

describe('sizes and times', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [12_345_678, '12 MB'],
    [999_999, '1.0 MB'],
  ])('%i bytes are %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  it.each([
    [7_400, '0:07'],
    [750_000, '12:30'],
    [3_723_000, '1:02:03'],
  ])('%i ms are %s on a clock', (ms, text) => {
    expect(formatClock(ms)).toBe(text)
  })

  it('prints short durations in milliseconds and long ones in minutes', () => {
    expect([formatDuration(280), formatDuration(1_420), formatDuration(75_000)]).toEqual([
      '280 ms',
      '1.4 s',
      '1:15 min',
    ])
  })
})

describe('the progress bar', () => {
  const state = {
    total: 200,
    done: 50,
    failed: 0,
    doneBytes: 50_000_000,
    processed: 50,
    elapsedMs: 25_000,
  }

  it('shows images, bytes, rates and the time left', () => {
    const line = renderProgress(state, 120)
    expect(line).toBe('█████░░░░░░░░░░░░░░░ 50/200 images  25 %  1:15 left  2.0 images/s  50 MB  2.0 MB/s')
  })

  it('does not count skipped images into the rate', () => {
    expect(renderProgress({ ...state, done: 150 }, 120)).toContain('0:25 left')
  })

  it('leaves out parts on a narrow terminal, and never fills its last column', () => {
    expect(renderProgress(state, 50)).toBe('█████░░░░░░░░░░░░░░░ 50/200 images  25 %')
    expect(renderProgress(state, 10)).toHaveLength(9)
  })
})
