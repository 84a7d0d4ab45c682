import { describe, expect, it } from 'vitest'
import { compare, firstBaseline, update } from './baseline.ts'
import type { Finding } from './finding.ts'

const finding = (where: string, size: number): Finding => ({ rule: 'file-lines', where, size, advice: 'divide it' })
const baseline = firstBaseline([finding('b', 400), finding('a', 310)])

describe('the baseline', () => {
  it('is sorted and has one entry for each finding', () => {
    expect(JSON.stringify(baseline)).toBe('{"accepted":{},"findings":{"file-lines":{"a":310,"b":400}}}')
  })

  it('holds what is as it was', () => {
    expect(compare([finding('a', 310), finding('b', 400)], baseline)).toEqual({ worse: [], better: [] })
  })

  it('does not hold what is new or has grown', () => {
    const { worse } = compare([finding('a', 311), finding('b', 400), finding('c', 301)], baseline)
    expect(worse.map(({ where, was, size }) => [where, was, size])).toEqual([
      ['a', 310, 311],
      ['c', 0, 301],
    ])
  })

  it('asks to be written again when something shrank or is gone', () => {
    expect(compare([finding('b', 390)], baseline).better).toEqual([
      'file-lines: a: 310 -> gone',
      'file-lines: b: 400 -> 390',
    ])
  })
})

describe('a new baseline', () => {
  it('is smaller by itself', () => {
    const next = update([finding('b', 390)], baseline, undefined)
    expect(next).toEqual({ accepted: {}, findings: { 'file-lines': { b: 390 } } })
  })

  it('grows with a reason alone, which it keeps as long as the entry', () => {
    const grown = [finding('a', 311), finding('b', 400)]
    expect(() => update(grown, baseline, undefined)).toThrow('1 findings are new or have grown')
    expect(() => update(grown, baseline, '')).toThrow()
    const next = update(grown, baseline, 'the protocol has one more case')
    expect(next.accepted).toEqual({ 'file-lines: a': 'the protocol has one more case' })
    expect(compare(grown, next)).toEqual({ worse: [], better: [] })
    expect(update([finding('b', 400)], next, undefined).accepted).toEqual({})
  })
})
