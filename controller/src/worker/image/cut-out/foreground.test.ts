import { describe, expect, it } from 'vitest'
import { findForeground } from './foreground.ts'

function withAlpha(
  width: number,
  height: number,
  points: [x: number, y: number, alpha: number][],
): Uint8Array<ArrayBuffer> {
  const rgba = new Uint8Array(width * height * 4)
  for (const [x, y, alpha] of points) rgba[(y * width + x) * 4 + 3] = alpha
  return rgba
}

describe('findForeground', () => {
  it('is null for a fully transparent image', () => {
    expect(findForeground(withAlpha(5, 4, []), 5, 4)).toBeNull()
  })

  it('is the smallest box around what is visible', () => {
    const rgba = withAlpha(10, 8, [
      [6, 2, 255],
      [3, 4, 8],
      [4, 5, 200],
    ])
    expect(findForeground(rgba, 10, 8)).toEqual({ top: 2, left: 3, width: 4, height: 4 })
  })

  it('ignores invisible pixels', () => {
    const rgba = withAlpha(10, 8, [
      [0, 0, 7],
      [9, 7, 7],
      [5, 5, 128],
    ])
    expect(findForeground(rgba, 10, 8)).toEqual({ top: 5, left: 5, width: 1, height: 1 })
  })

  it('reaches all four edges', () => {
    const rgba = withAlpha(3, 2, [
      [0, 0, 255],
      [2, 1, 255],
    ])
    expect(findForeground(rgba, 3, 2)).toEqual({ top: 0, left: 0, width: 3, height: 2 })
    expect(findForeground(withAlpha(1, 1, [[0, 0, 255]]), 1, 1)).toEqual({ top: 0, left: 0, width: 1, height: 1 })
  })
})
