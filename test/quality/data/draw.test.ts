import { describe, expect, it } from 'vitest'
import type { Part } from './case.ts'
import { layOver } from './draw.ts'
import { createRandom } from './random.ts'
import { drawGlass, drawHoles } from './structures.ts'

describe('the drawn pictures', () => {
  it('are the same for the same name, and others for another', async () => {
    const size = { width: 96, height: 72 }
    const one = await drawHoles(size, createRandom('tune-holes-0'))
    const again = await drawHoles(size, createRandom('tune-holes-0'))
    const other = await drawHoles(size, createRandom('report-holes-0'))
    expect(Buffer.compare(one.rgba, again.rgba)).toBe(0)
    expect(Buffer.compare(one.rgba, other.rgba)).not.toBe(0)
  })

  it('have half-clear glass, and no colour where nothing is', async () => {
    const { rgba } = await drawGlass({ width: 96, height: 72 }, createRandom('a'))
    const alphas = rgba.filter((_, i) => i % 4 === 3)
    expect(alphas.filter((alpha) => alpha > 40 && alpha < 215).length).toBeGreaterThan(300)
    const hidden = [...alphas.keys()].filter((i) => alphas[i] === 0)
    expect(hidden.every((i) => rgba[i * 4] === 0 && rgba[i * 4 + 1] === 0 && rgba[i * 4 + 2] === 0)).toBe(true)
  })
})

describe('layOver', () => {
  it('mixes by alpha', () => {
    const rgba = Uint8Array.of(200, 100, 0, 51, 1, 2, 3, 255, 9, 9, 9, 0)
    const photo = layOver({ width: 3, height: 1, rgba }, Uint8Array.of(100, 100, 100, 50, 50, 50, 7, 8, 9))
    expect([...photo]).toEqual([120, 100, 80, 1, 2, 3, 7, 8, 9])
  })
})

describe('createRandom', () => {
  it('is even and bell-shaped', () => {
    const random = createRandom('tune' satisfies Part)
    const even = Array.from({ length: 20_000 }, () => random.next())
    const bell = Array.from({ length: 20_000 }, () => random.bell())
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    expect(mean(even)).toBeCloseTo(0.5, 1)
    expect(mean(bell)).toBeCloseTo(0, 1)
    expect(mean(bell.map((value) => value * value))).toBeCloseTo(1, 1)
  })
})
