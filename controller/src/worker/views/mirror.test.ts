import { describe, expect, it } from 'vitest'
import { mirror, raiseToMirrored } from './mirror.ts'

describe('mirror', () => {
  it('exchanges left and right, and leaves rows and the order of colours', () => {
    const pixels = Uint8Array.from([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29,
    ])
    expect([...mirror(pixels, 3)]).toEqual([
      7, 8, 9, 4, 5, 6, 1, 2, 3, 17, 18, 19, 14, 15, 16, 11, 12, 13, 27, 28, 29, 24, 25, 26, 21, 22, 23,
    ])
    expect(mirror(mirror(pixels, 3), 3)).toEqual(pixels)
  })
})

describe('raiseToMirrored', () => {
  it('takes the higher value of a pixel and of the one that mirrors it', () => {
    const mask = Uint8Array.from([10, 0, 200, 0])
    raiseToMirrored(mask, Uint8Array.from([30, 20, 7, 5]), 2)
    expect([...mask]).toEqual([20, 30, 200, 7])
  })
})
