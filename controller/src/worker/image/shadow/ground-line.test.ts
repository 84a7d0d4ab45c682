import { describe, expect, it } from 'vitest'
import { findGroundLine } from './ground-line.ts'

/** A subject by the lowest row of each column; -1: an empty column. */
function subject(lowest: readonly number[], height = 20) {
  const width = lowest.length
  const rgba = new Uint8Array(width * height * 4)
  for (const [x, last] of lowest.entries()) for (let y = 0; y <= last; y++) rgba[(y * width + x) * 4 + 3] = 255
  return { rgba, width, height, foreground: { left: 0, top: 0, width, height } }
}
const contactsOf = (lowest: readonly number[]) => [...findGroundLine(subject(lowest)).contact].map((value) => value > 0)

describe('the ground line', () => {
  it('joins the wheels of a car', () => {
    const { rows, contact } = findGroundLine(subject([10, 19, 19, 12, 12, 12, 12, 12, 19, 19, 10]))
    expect([...rows.subarray(1, 10)]).toEqual(Array.from({ length: 9 }, () => 19))
    expect([...contact.subarray(1, 9)]).toEqual(Array.from({ length: 8 }, () => 1))
  })

  it('follows a ground that rises a little to a wheel at the back', () => {
    const lowest = [19, 12, 12, 12, 12, 12, 12, 12, 12, 12, 17]
    const { rows, contact } = findGroundLine(subject(lowest))
    expect(rows[5]).toBeCloseTo(18)
    expect(contact.every((value) => value > 0)).toBe(true)
  })

  it('has no contact where the subject overhangs', () => {
    // A goblet: the foot is three columns wide, the cup eleven.
    expect(contactsOf([5, 5, 5, 5, 19, 19, 19, 5, 5, 5, 5])).toEqual([
      ...[false, false, false, false],
      ...[true, true, true],
      ...[false, false, false, false],
    ])
  })

  it('ignores what is not solid', () => {
    const soft = subject([19, 19, 19])
    for (let i = 3; i < soft.rgba.length; i += 4) soft.rgba[i] = 100
    expect([...findGroundLine(soft).contact]).toEqual([0, 0, 0])
  })
})
