import { describe, expect, it } from 'vitest'
import { listCells, numbersPerCell, sumWindows, windowCounts, windowSums } from './window-sums.ts'

const gridSize = 11
const cellsWhere = (choose: (cell: number) => boolean) =>
  Int32Array.from(Array.from({ length: gridSize ** 2 }, (_, cell) => cell).filter(choose))
const isNear = (a: number, b: number, radius: number) =>
  Math.abs((a % gridSize) - (b % gridSize)) <= radius &&
  Math.abs(Math.floor(a / gridSize) - Math.floor(b / gridSize)) <= radius

const lists: [name: string, sources: Int32Array, targets: Int32Array][] = [
  ['all cells', cellsWhere(() => true), cellsWhere(() => true)],
  ['scattered cells', cellsWhere((cell) => cell % 3 === 0), cellsWhere((cell) => cell % 7 < 3)],
  ['the two ends', cellsWhere((cell) => cell < 4 || cell > 110), cellsWhere((cell) => cell === 0 || cell === 120)],
  ['no sources', cellsWhere(() => false), cellsWhere(() => true)],
  ['no targets', cellsWhere(() => true), cellsWhere(() => false)],
]

describe.each(lists)('sums over windows of %s', (_, sources, targets) => {
  it.each([0, 1, 3, 5, 30])('equal the plain definition with radius %i, each time', (radius) => {
    const values = Float64Array.from({ length: sources.length * numbersPerCell }, (_, i) => ((i * 37) % 101) / 101)
    const expected = [...targets].flatMap((target) =>
      Array.from({ length: numbersPerCell }, (_, number) =>
        [...sources].reduce(
          (sum, source, i) =>
            isNear(source, target, radius) ? sum + (values[i * numbersPerCell + number] ?? Number.NaN) : sum,
          0,
        ),
      ),
    )
    const plan = windowSums(listCells(sources, gridSize), listCells(targets, gridSize), radius)
    const sums = new Float64Array(expected.length)
    for (let round = 0; round < 2; round++) {
      sumWindows(plan, values, sums)
      for (const [i, value] of sums.entries()) expect(value).toBeCloseTo(expected[i] ?? Number.NaN, 9)
    }
  })
})

it('counts the cells of windows that the border clips', () => {
  const counts = windowCounts(listCells(Int32Array.of(0, 5, 60, 120), gridSize), 3)
  expect([...counts]).toEqual([4 * 4, 7 * 4, 7 * 7, 4 * 4])
})
