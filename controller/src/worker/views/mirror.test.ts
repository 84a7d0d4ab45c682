import { describe, expect, it } from 'vitest'
import { mirror } from './mirror.ts'

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
