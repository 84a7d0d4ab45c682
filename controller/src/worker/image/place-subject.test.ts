import { describe, expect, it } from 'vitest'
import { cropWindow, limitSize, placeSubject, regionBox, roundBox } from './place-subject.ts'

const photo = { width: 200, height: 100 }

describe('regionBox', () => {
  it.each([
    ['0px 0px 200px 100px', { left: 0, top: 0, width: 200, height: 100 }],
    ['0% 0% 100% 100%', { left: 0, top: 0, width: 200, height: 100 }],
    // Percentages of the width across and of the height down.
    ['10% 10% 50% 50%', { left: 20, top: 10, width: 80, height: 40 }],
    ['10px 10% 50% 90px', { left: 10, top: 10, width: 90, height: 80 }],
    ['150px 50px 99999px 99999px', { left: 150, top: 50, width: 50, height: 50 }],
    ['300px 0px 99999px 100px', { left: 200, top: 0, width: 0, height: 100 }],
    // Mixed units may meet only in the photo.
    ['150px 0px 10% 100%', { left: 150, top: 0, width: 0, height: 100 }],
  ])('of %s', (edges, box) => {
    const [left = '', top = '', right = '', bottom = ''] = edges.split(' ')
    expect(regionBox({ left, top, right, bottom }, photo)).toEqual(box)
  })
})

describe('cropWindow', () => {
  const foreground = { left: 100, top: 40, width: 40, height: 20 }
  it.each([
    ['0px', { left: 100, top: 40, width: 40, height: 20 }],
    ['10px', { left: 90, top: 30, width: 60, height: 40 }],
    // A tenth of the longer side, 40.
    ['10%', { left: 96, top: 36, width: 48, height: 28 }],
    ['10px 20px', { left: 80, top: 30, width: 80, height: 40 }],
    ['10% 20px', { left: 80, top: 36, width: 80, height: 28 }],
    ['1px 2px 3px 4px', { left: 96, top: 39, width: 46, height: 24 }],
    ['99999px 0px 0px 0px', { left: 100, top: 0, width: 40, height: 60 }],
    ['99999% 99999%', { left: 0, top: 0, width: 200, height: 100 }],
  ])('with the margin %s', (margin, window) => {
    expect(cropWindow(foreground, margin, photo)).toEqual(window)
  })
})

describe('placeSubject', () => {
  const subject = { left: 100, top: 40, width: 40, height: 20 }

  it('leaves the subject without scale and position', () => {
    expect(placeSubject(subject, photo, { scale: 'original', position: 'original' })).toBeUndefined()
  })

  it.each([
    ['original', 'center', { left: 80, top: 40, width: 40, height: 20 }],
    ['original', '0% 0%', { left: 0, top: 0, width: 40, height: 20 }],
    ['original', '100% 100%', { left: 160, top: 80, width: 40, height: 20 }],
    ['original', '50% 100%', { left: 80, top: 80, width: 40, height: 20 }],
    ['100%', 'center', { left: 0, top: 0, width: 200, height: 100 }],
    ['50%', 'center', { left: 50, top: 25, width: 100, height: 50 }],
    ['50%', '100% 0%', { left: 100, top: 0, width: 100, height: 50 }],
    ['10%', 'center', { left: 90, top: 45, width: 20, height: 10 }],
    // Keeps its centre, at 120 and 50.
    ['50%', 'original', { left: 70, top: 25, width: 100, height: 50 }],
    // The centre would put it beyond the right edge.
    ['90%', 'original', { left: 20, top: 5, width: 180, height: 90 }],
  ])('with scale %s at %s', (scale, position, place) => {
    expect(placeSubject(subject, photo, { scale, position })).toEqual(place)
  })

  it.each([
    [
      { left: 0, top: 0, width: 10, height: 100 },
      { left: 95, top: 0, width: 10, height: 100 },
    ],
    [
      { left: 0, top: 0, width: 200, height: 10 },
      { left: 0, top: 45, width: 200, height: 10 },
    ],
  ])('fills the canvas along one side: %j', (tall, place) => {
    expect(placeSubject(tall, photo, { scale: '100%', position: 'center' })).toEqual(place)
  })
})

it('a placed subject never leaves its canvas, and a result is never larger than the photo', () => {
  const random = (() => {
    let state = 1
    return (max: number) => {
      state = (state * 48_271) % 2_147_483_647
      return state % max
    }
  })()
  for (let round = 0; round < 5_000; round++) {
    const size = { width: 1 + random(300), height: 1 + random(300) }
    const left = random(size.width)
    const top = random(size.height)
    const box = { left, top, width: 1 + random(size.width - left), height: 1 + random(size.height - top) }
    const window = cropWindow(box, `${random(100)}px ${random(100)}%`, size)
    const limits = { maxSide: random(2) ? 1 + random(300) : null, maxPixels: random(2) ? 1 + random(90_000) : null }
    const result = limitSize(window, limits)
    expect(result.width * result.height).toBeLessThanOrEqual(
      Math.min(size.width * size.height, limits.maxPixels ?? Infinity),
    )
    expect(Math.max(result.width, result.height)).toBeLessThanOrEqual(limits.maxSide ?? 300)
    const scale = random(2) ? 'original' : `${10 + random(91)}%`
    const position = random(3) ? `${random(101)}% ${random(101)}%` : 'original'
    const inWindow = { ...box, left: box.left - window.left, top: box.top - window.top }
    const place = placeSubject(inWindow, window, { scale, position }) ?? inWindow
    const factor = { width: result.width / window.width, height: result.height / window.height }
    const { left: x, top: y, width, height } = roundBox(place, factor, result)
    expect({ round, inside: x >= 0 && y >= 0 && x + width <= result.width && y + height <= result.height }).toEqual({
      round,
      inside: true,
    })
    expect(Math.min(width, height)).toBeGreaterThan(0)
  }
})

describe('limitSize', () => {
  it.each([
    [{ maxSide: null, maxPixels: null }, [200, 100]],
    [{ maxSide: 100, maxPixels: null }, [100, 50]],
    [{ maxSide: 300, maxPixels: 99_999 }, [200, 100]],
    [{ maxSide: null, maxPixels: 5_000 }, [100, 50]],
    [{ maxSide: 50, maxPixels: 5_000 }, [50, 25]],
    [{ maxSide: 150, maxPixels: 5_000 }, [100, 50]],
    [{ maxSide: null, maxPixels: 1 }, [1, 1]],
    // 117 x 59 would be 6,903 pixels.
    [{ maxSide: null, maxPixels: 6_900 }, [116, 59]],
  ])('to %j', (limits, [width, height]) => {
    expect(limitSize(photo, limits)).toEqual({ width, height })
  })

  it('keeps a pixel of a thin image', () => {
    expect(limitSize({ width: 1, height: 5_000 }, { maxSide: null, maxPixels: 100 })).toEqual({ width: 1, height: 100 })
    expect(limitSize({ width: 5_000, height: 1 }, { maxSide: 100, maxPixels: null })).toEqual({ width: 100, height: 1 })
  })
})
