import { describe, expect, it } from 'vitest'
import { duration, integer, jobs, list, timeOrAgo } from './arguments.ts'

describe('values of options', () => {
  it('reads integers within bounds', () => {
    expect(integer(1, 10)('7')).toBe(7)
    for (const text of ['0', '11', '1.5', 'x', '', '-1', '1e1']) expect(() => integer(1, 10)(text)).toThrow('integer')
  })

  it('reads a number of jobs or auto', () => {
    expect([jobs('auto'), jobs('8')]).toEqual(['auto', 8])
    expect(() => jobs('many')).toThrow('integer')
  })

  it('reads durations', () => {
    expect(['90s', '30m', '2h', '1d', '0s'].map(duration)).toEqual([90, 1_800, 7_200, 86_400, 0])
    for (const text of ['', 'h', '2', '2w', '-1h']) expect(() => duration(text)).toThrow('such as')
  })

  it('reads times, and times ago', () => {
    const nowMs = Date.parse('2026-11-21T12:00:00Z')
    expect(timeOrAgo('2h', nowMs)).toBe('2026-11-21T10:00:00.000Z')
    expect(timeOrAgo('2026-11-01')).toBe('2026-11-01')
    for (const text of ['yesterday', '2026-99-01', '21.11.2026']) expect(() => timeOrAgo(text)).toThrow('such as')
  })

  it('reads lists of names', () => {
    expect(list('a, b,,c')).toEqual(['a', 'b', 'c'])
    expect(list('')).toEqual([])
  })
})
