import { describe, expect, it } from 'vitest'
import type { MaskedPhoto } from './colour-odds.ts'
import { joinMasks } from './join-masks.ts'

const size = 5
const subject = 255

/** Rows of digits, tenths of the subject's value; `#` is all of it, `.` none. */
const maskOf = (...rows: readonly string[]): Uint8Array =>
  Uint8Array.from(
    rows.flatMap((row) => Array.from(row, (one) => (one === '#' ? subject : one === '.' ? 0 : Number(one) * 25.5))),
  )
const ring = ['#####', '#...#', '#...#', '#...#', '#####']
const solid = ring.map(() => '#####')

/** Its inner positions have a colour that the outer ones lack. */
const framed: MaskedPhoto = {
  pixels: Uint8Array.from({ length: size * size * 3 }, (_none, i) => {
    const [x, y] = [Math.floor(i / 3) % size, Math.floor(i / 3 / size)]
    return Math.min(x, y) === 0 || Math.max(x, y) === size - 1 ? 200 : 20
  }),
  channels: 3,
  width: size,
  height: size,
}

function join(view: readonly string[], mirror: readonly string[], photo = framed): Uint8Array {
  const mask = maskOf(...view)
  joinMasks(mask, maskOf(...mirror), photo)
  return mask
}

describe('joinMasks', () => {
  it('takes the higher value of both views', () => {
    const left = ['##...', '##...', '##3..', '##...', '##...']
    const top = ['#####', '.....', '..2..', '.....', '.....']
    expect(join(left, top)).toEqual(maskOf('#####', '##...', '##3..', '##...', '##...'))
  })

  it('keeps a hole open that either view sees', () => {
    expect(join(ring, solid)).toEqual(maskOf(...ring))
    expect(join(solid, ring)).toEqual(maskOf(...ring))
  })

  it('takes the lower value if both see a hole', () => {
    const darker = ['#####', '#333#', '#333#', '#333#', '#####']
    expect(join(ring, darker)).toEqual(maskOf(...ring))
    expect(join(darker, ring)).toEqual(maskOf(...ring))
  })

  it('closes a bay that one view leaves open to the border and the other fills', () => {
    const bay = ['#####', '#...#', '#....', '#...#', '#####']
    expect(join(bay, solid)).toEqual(maskOf(...solid))
    expect(join(solid, bay)).toEqual(maskOf(...solid))
  })

  it('ignores a frame around the other view’s subject', () => {
    const large = 41
    const at = (value: (x: number, y: number) => number) =>
      Uint8Array.from({ length: large * large }, (_none, i) => value(i % large, Math.floor(i / large)))
    const isEdge = (x: number, y: number) => x === 0 || y === 0 || x === large - 1 || y === large - 1
    const frame = at((x, y) => (isEdge(x, y) ? subject : 0))
    const inner = at((x, y) => (isEdge(x, y) ? 0 : subject))
    const mask = Uint8Array.from(frame)
    joinMasks(mask, inner, framed)
    expect(mask).toEqual(at(() => subject))
  })

  it('takes the rim of a hole from the view that sees it', () => {
    const soft = ['#####', '#777#', '#7.7#', '#777#', '#####']
    expect(join(soft, solid)).toEqual(maskOf(...soft))
  })

  describe('with a hole that one view sees', () => {
    // A head with an eye, on a ground.
    const holed = ['.......', '.#####.', '.#...#.', '.#...#.', '.#...#.', '.#####.', '.......']
    const whole = holed.map((row) => row.replace('#...#', '#####'))
    /** `.` ground, `#` fur, `o` the hole; three pixels per mask position. */
    const paint = (hole: readonly [number, number, number], channels: 3 | 4 = 3): MaskedPhoto => {
      const colourAt = (x: number, y: number) => {
        const isIn = holed[y]?.slice(0, x + 1).includes('#') && holed[y]?.slice(x).includes('#')
        if (!isIn) return [20, 60, 200]
        return holed[y]?.[x] === '#' ? [200, 150, 90] : hole
      }
      const pixels = Array.from({ length: 21 * 21 }, (_none, i) => {
        const colour = colourAt(Math.floor((i % 21) / 3), Math.floor(i / 63))
        return channels === 4 ? [...colour, 255] : colour
      })
      return { pixels: Uint8Array.from(pixels.flat()), channels, width: 21, height: 21 }
    }

    it.each([3, 4] as const)('keeps it open where it has the colours of the background: %i channels', (channels) => {
      const photo = paint([25, 50, 210], channels)
      expect(join(holed, whole, photo)).toEqual(maskOf(...holed))
      expect(join(whole, holed, photo)).toEqual(maskOf(...holed))
    })

    it.each([3, 4] as const)('closes it where it has those of the subject: %i channels', (channels) => {
      const photo = paint([210, 140, 70], channels)
      expect(join(holed, whole, photo)).toEqual(maskOf(...whole))
      expect(join(whole, holed, photo)).toEqual(maskOf(...whole))
    })

    it('keeps a hole open that both views see, or whose colours neither class has', () => {
      expect(join(holed, holed, paint([210, 140, 70]))).toEqual(maskOf(...holed))
      expect(join(holed, whole, paint([0, 255, 0]))).toEqual(maskOf(...holed))
    })

    it('checks each hole separately', () => {
      const two = ['.........', '.#######.', '.#.###.#.', '.#######.', '.........']
      const square = (rows: readonly string[]) => [...rows, ...Array.from({ length: 4 }, () => '.........')]
      const pixels = Array.from(square(two).join('')).flatMap((one, i) => {
        if (i === 2 * 9 + 2) return [200, 150, 90] // the left hole shows fur
        return one === '#' ? [200, 150, 90] : [20, 60, 200]
      })
      const photo: MaskedPhoto = { pixels: Uint8Array.from(pixels), channels: 3, width: 9, height: 9 }
      const solid = square(two).map((row) => row.replace('.#.###.#.', '.#######.'))
      const right = square(two).map((row) => row.replace('.#.###.#.', '.#####.#.'))
      expect(join(square(two), solid, photo)).toEqual(maskOf(...right))
    })
  })
})
