import { describe, expect, it } from 'vitest'
import { joinMirrored } from './join-masks.ts'

const size = 5
const subject = 255

/** Rows of digits, tenths of the subject's value; `#` is all of it, and `.` none. */
const maskOf = (...rows: readonly string[]): Uint8Array =>
  Uint8Array.from(
    rows.flatMap((row) => Array.from(row, (one) => (one === '#' ? subject : one === '.' ? 0 : Number(one) * 25.5))),
  )
const mirroredOf = (...rows: readonly string[]): Uint8Array =>
  maskOf(...rows.map((row) => Array.from(row).reverse().join('')))
const ring = ['#####', '#...#', '#...#', '#...#', '#####']
const solid = ring.map(() => '#####')

function join(photo: readonly string[], mirror: readonly string[]): Uint8Array {
  const mask = maskOf(...photo)
  joinMirrored(mask, mirroredOf(...mirror), size)
  return mask
}

describe('joinMirrored', () => {
  it('takes the higher value of a pixel and of the one that mirrors it', () => {
    const left = ['##...', '##...', '##3..', '##...', '##...']
    const top = ['#####', '.....', '..2..', '.....', '.....']
    expect(join(left, top)).toEqual(maskOf('#####', '##...', '##3..', '##...', '##...'))
  })

  it('keeps a hole that one view sees open, whichever it is', () => {
    expect(join(ring, solid)).toEqual(maskOf(...ring))
    expect(join(solid, ring)).toEqual(maskOf(...ring))
  })

  it('takes the lower value where both see a hole', () => {
    const darker = ['#####', '#333#', '#333#', '#333#', '#####']
    expect(join(ring, darker)).toEqual(maskOf(...ring))
    expect(join(darker, ring)).toEqual(maskOf(...ring))
  })

  it('closes a bay that one view leaves open to the border: the other finds what is missing', () => {
    const bay = ['#####', '#...#', '#....', '#...#', '#####']
    expect(join(bay, solid)).toEqual(maskOf(...solid))
    expect(join(solid, bay)).toEqual(maskOf(...solid))
  })

  it('takes a frame around what the other view finds for no subject', () => {
    const large = 41
    const at = (value: (x: number, y: number) => number) =>
      Uint8Array.from({ length: large * large }, (_none, i) => value(i % large, Math.floor(i / large)))
    const isEdge = (x: number, y: number) => x === 0 || y === 0 || x === large - 1 || y === large - 1
    const frame = at((x, y) => (isEdge(x, y) ? subject : 0))
    const inner = at((x, y) => (isEdge(x, y) ? 0 : subject))
    const mask = Uint8Array.from(frame)
    joinMirrored(mask, inner, large)
    expect(mask).toEqual(at(() => subject))
  })

  it('has the rim of a hole in the value of the view that sees it', () => {
    const soft = ['#####', '#777#', '#7.7#', '#777#', '#####']
    expect(join(soft, solid)).toEqual(maskOf(...soft))
  })
})
