import { describe, expect, it } from 'vitest'
import { duration, integer, jobs, list, position, roi, scale, timeOrAgo } from './arguments.ts'

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

it('reads a region, a scale and a position', () => {
  expect(roi(' 10% 0px  90% 100%')).toEqual({ left: '10%', top: '0px', right: '90%', bottom: '100%' })
  expect(['original', '10%', '100%'].map(scale)).toEqual(['original', '10%', '100%'])
  expect(['original', 'center', '50%  100%'].map(position)).toEqual(['original', 'center', '50% 100%'])
})

it.each(['', '10%', '10% 0px 90%', '10% 0px 90% 100% 1%', '10 0 90 100', '101% 0px 90% 100%'])(
  'refuses the region %j',
  (text) => expect(() => roi(text)).toThrow('left, top, right and bottom'),
)

it.each(['', '9%', '101%', '80', 'big'])('refuses the scale %j', (text) =>
  expect(() => scale(text)).toThrow('from 10% to 100%'),
)

it.each(['', '50%', '50% 101%', '50 100', 'left'])('refuses the position %j', (text) =>
  expect(() => position(text)).toThrow('two percentages'),
)
