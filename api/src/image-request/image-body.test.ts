import { expect, it } from 'vitest'
import { bodyDeadlineMs } from '../limit/request-body.ts'
import { bodyBytesMax, imageBody } from './image-body.ts'

const mb = 1_048_576

it.each([
  [0, 10_000],
  [20 * mb, 90_000],
  [1_000 * mb, 10_000 + 4_000 * (bodyBytesMax(20 * mb) / mb)],
  [undefined, 10_000 + 4_000 * (bodyBytesMax(20 * mb) / mb)],
])('a body of %s bytes has %i ms: 10 s and 4 s per MiB, at most those of the largest image', (length, expected) => {
  expect(bodyDeadlineMs(length, imageBody(20 * mb))).toBe(expected)
})
