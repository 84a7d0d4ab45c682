import { describe, expect, it } from 'vitest'
import { boxMean } from './decontaminate.ts'

function slowBoxMean(source: Float32Array, size: number, radius: number): number[] {
  return Array.from(source, (_, cell) => {
    const [x, y] = [cell % size, Math.floor(cell / size)]
    const inWindow = [...source].filter(
      (_, other) => Math.abs((other % size) - x) <= radius && Math.abs(Math.floor(other / size) - y) <= radius,
    )
    return inWindow.reduce((a, b) => a + b, 0) / inWindow.length
  })
}

describe('boxMean', () => {
  it.each([
    [9, 0],
    [9, 1],
    [9, 4],
    [9, 5],
    [9, 30],
    [1, 2],
    [2, 1],
  ])('equals the plain definition on a grid of %i with radius %i', (size, radius) => {
    const source = Float32Array.from({ length: size * size }, (_, i) => ((i * 37) % 101) / 101)
    const expected = slowBoxMean(source, size, radius)
    for (const [cell, mean] of boxMean(source, size, radius).entries())
      expect(mean).toBeCloseTo(expected[cell] ?? Number.NaN, 6)
  })
})
