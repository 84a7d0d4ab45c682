import { describe, expect, it } from 'vitest'
import { noEffects, planResult, toOutput } from './effects.ts'

const size = { width: 600, height: 400 }
const box = { left: 100, top: 50, width: 200, height: 300 }

describe('the part and the size of a result', () => {
  it('are those of the photo without options', () => {
    expect(planResult(size, box, noEffects)).toEqual({ from: { left: 0, top: 0, ...size }, to: size })
  })

  it('are the box of the foreground with its margin, which ends at the edge', () => {
    expect(planResult(size, box, { ...noEffects, crop: true, cropMargin: 20 }).from).toEqual({
      left: 40,
      top: 0,
      width: 320,
      height: 400,
    })
  })

  it('are the whole photo where nothing was found', () => {
    expect(planResult(size, null, { ...noEffects, crop: true }).to).toEqual(size)
  })

  it.each([
    [300, { width: 300, height: 200 }],
    [9_000, size],
    [1, { width: 1, height: 1 }],
  ])('have a longer side of at most %i', (maxSide, to) => {
    expect(planResult(size, box, { ...noEffects, maxSide }).to).toEqual(to)
  })
})

it('names only options that differ from the default', () => {
  expect(toOutput(noEffects)).toEqual({})
  expect(toOutput({ ...noEffects, cropMargin: 5 })).toEqual({})
  expect(
    toOutput({ format: 'webp', background: '#ff0000', crop: true, cropMargin: 5, maxSide: 800, shadow: 'cast' }),
  ).toEqual({
    format: 'webp',
    background: '#ff0000',
    crop: true,
    cropMargin: '5%',
    maxSide: 800,
    shadow: { kind: 'cast' },
  })
})
