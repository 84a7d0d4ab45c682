import { describe, expect, it } from 'vitest'
import { formatRows, isMet, type Row, type Target } from './row.ts'

const row = (ratio: number, target?: Target): Row => ({
  name: 'a ÷ b',
  ratio,
  detail: '1 and 2',
  ...(target && { target }),
})

describe('isMet', () => {
  it.each<[number, Target | undefined, boolean]>([
    [0.6, { atLeast: 0.6 }, true],
    [0.599, { atLeast: 0.6 }, false],
    [4, { atMost: 4 }, true],
    [4.001, { atMost: 4 }, false],
    [Number.NaN, { atLeast: 0.6 }, false],
    [Number.NaN, { atMost: 4 }, false],
    [Number.POSITIVE_INFINITY, { atMost: 4 }, false],
    [0, undefined, true],
    [Number.NaN, undefined, true],
  ])('of %d with %j is %s', (ratio, target, expected) => {
    expect(isMet(row(ratio, target))).toBe(expected)
  })
})

describe('formatRows', () => {
  it('names each row that missed its target, below the table', () => {
    const text = formatRows([row(0.5, { atLeast: 0.6 }), row(1, { atMost: 2 }), row(9)])
    expect(text.split('\n').slice(2)).toEqual([
      '| a ÷ b | 0.500 (missed) | ≥ 0.6 | 1 and 2 |',
      '| a ÷ b | 1.000 | ≤ 2 | 1 and 2 |',
      '| a ÷ b | 9.000 | – | 1 and 2 |',
      '',
      'missed: a ÷ b: 0.500, not ≥ 0.6',
    ])
  })
})
