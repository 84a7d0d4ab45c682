import { describe, expect, it } from 'vitest'
import { mirror, mirrorBack } from './mirror.ts'

const size = 40
const planeOf = (value: (x: number, y: number) => number): Uint8Array =>
  Uint8Array.from({ length: size * size }, (_none, i) => value(i % size, Math.floor(i / size)))
/** A plane for each of red, green and blue. */
const rgbOf = (...planes: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from({ length: size * size * 3 }, (_none, i) => planes[i % 3]?.[Math.floor(i / 3)] ?? 0)
const takePlane = (pixels: Uint8Array, channel: number): Uint8Array =>
  Uint8Array.from({ length: size * size }, (_none, i) => pixels[i * 3 + channel] ?? 0)
/** Sum of the values, and their centre in pixels from the top left corner. */
function weigh(plane: Uint8Array) {
  let [sum, across, down] = [0, 0, 0]
  for (const [i, value] of plane.entries()) {
    sum += value
    across += value * ((i % size) + 0.5)
    down += value * (Math.floor(i / size) + 0.5)
  }
  return { sum, across: across / sum, down: down / sum }
}
const square = (left: number, top: number, side = 8) =>
  planeOf((x, y) => (x >= left && x < left + side && y >= top && y < top + side ? 200 : 0))

describe('mirror', () => {
  it('mirrors left and right, shrinks by a tenth, and keeps the channel order', () => {
    const view = mirror(
      rgbOf(
        square(4, 10),
        square(20, 26),
        planeOf(() => 90),
      ),
      size,
    )
    const [red, green] = [weigh(takePlane(view, 0)), weigh(takePlane(view, 1))]
    // The squares' middles are 12 left of and 6 above that of the photo, and 4 right of and 10 below it.
    expect(red.across).toBeCloseTo(20 + 0.9 * 12, 1)
    expect(red.down).toBeCloseTo(20 - 0.9 * 6, 1)
    expect(green.across).toBeCloseTo(20 - 0.9 * 4, 1)
    expect(green.down).toBeCloseTo(20 + 0.9 * 10, 1)
    expect(red.sum / weigh(square(4, 10)).sum).toBeCloseTo(0.81, 1)
    expect(takePlane(view, 2)).toEqual(planeOf(() => 90))
  })

  it('reflects the photo at its border', () => {
    const rising = takePlane(mirror(rgbOf(planeOf((_x, y) => y * 5)), size), 0)
    const column = Array.from({ length: size }, (_none, y) => rising[y * size])
    // Two pixels are border on either side. Between them are the photo's rows, 0 to 39 times 5.
    expect(column.slice(0, 4)).toEqual([6, 0, 0, 6])
    expect(column.slice(-4)).toEqual([189, 195, 195, 189])
  })
})

describe('mirrorBack', () => {
  it('maps the second view back to the photo, to a tenth of a pixel', () => {
    for (const plane of [square(2, 3), square(27, 30), square(0, 16)]) {
      const back = weigh(mirrorBack(takePlane(mirror(rgbOf(plane), size), 0), size))
      const { sum, across, down } = weigh(plane)
      expect(Math.abs(back.across - across)).toBeLessThan(0.1)
      expect(Math.abs(back.down - down)).toBeLessThan(0.1)
      expect(Math.abs(back.sum / sum - 1)).toBeLessThan(0.03)
    }
  })

  it('keeps a constant', () => {
    expect(
      mirrorBack(
        planeOf(() => 255),
        size,
      ),
    ).toEqual(planeOf(() => 255))
  })
})
