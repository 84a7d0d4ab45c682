import { describe, expect, it } from 'vitest'
import { announcedBytes, bodyDeadlineMs, parsedBody } from './request-body.ts'

describe('bodyDeadlineMs', () => {
  it.each([
    [0, 10_000],
    [524_288, 15_000],
    [1_048_576, 20_000],
    [1_099_511_627_776, 20_000],
    [undefined, 20_000],
  ])('for length %s is %i ms', (length, expected) => {
    expect(bodyDeadlineMs(length, parsedBody)).toBe(expected)
  })
})

describe('announcedBytes', () => {
  it.each([
    [{}, 0],
    [{ 'content-length': '9' }, 9],
    [{ 'transfer-encoding': 'chunked' }, undefined],
  ])('of %o is %s', (headers, expected) => {
    expect(announcedBytes(headers)).toBe(expected)
  })
})
