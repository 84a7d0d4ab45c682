import type { Shadow } from '@matte/core/db/tables/task'
import { shadowDefaults } from '@matte/core/task/output'
import { describe, expect, it } from 'vitest'
import { makeShadow } from './make-shadow.ts'
import { castOffset, dropOffset, sizeWithShadow } from './shadow-size.ts'

const shadow = (kind: Shadow['kind'], wish: Partial<Shadow> = {}): Shadow => ({
  kind,
  ...shadowDefaults[kind],
  ...wish,
})

/** A solid block in the middle of a photo. */
function block(width: number, height: number) {
  const photo = { width: width + 20, height: height + 10 }
  const foreground = { left: 10, top: 5, width, height }
  const rgba = new Uint8Array(photo.width * photo.height * 4)
  for (let y = 5; y < 5 + height; y++) {
    for (let x = 10; x < 10 + width; x++) rgba[(y * photo.width + x) * 4 + 3] = 255
  }
  return { rgba, ...photo, foreground }
}

function made(subject: ReturnType<typeof block>, wish: Shadow) {
  const layer = makeShadow(subject, wish)
  if (layer === undefined) throw new Error('no shadow')
  const { box, opacities } = layer
  const opacityAt = (x: number, y: number): number => {
    const [column, row] = [x - box.left, y - box.top]
    if (column < 0 || row < 0 || column >= box.width || row >= box.height) return 0
    return opacities[row * box.width + column] ?? 0
  }
  return { ...layer, opacityAt }
}

const kinds = ['drop', 'contact', 'cast'] as const

describe('a shadow', () => {
  it.each(kinds)('of the kind %s is nowhere darker than its opacity, and ends in nothing', (kind) => {
    const { opacities, box } = made(block(200, 150), shadow(kind, { opacity: 60, blur: '20%' }))
    const darkest = opacities.reduce((most, value) => Math.max(most, value), 0)
    expect(darkest).toBeLessThanOrEqual(153)
    expect(darkest).toBeGreaterThan(75)
    const rim = [...opacities].filter((_, i) => {
      const [x, y] = [i % box.width, Math.floor(i / box.width)]
      return x === 0 || y === 0 || x === box.width - 1 || y === box.height - 1
    })
    expect(Math.max(...rim)).toBeLessThanOrEqual(2)
  })

  it.each(kinds)('of the kind %s is not made for an opacity of 0', (kind) => {
    expect(makeShadow(block(20, 20), shadow(kind, { opacity: 0 }))).toBeUndefined()
  })

  it.each(kinds)('of the kind %s works for a subject of one pixel', (kind) => {
    for (const blur of ['0px', '25%', '99999px']) {
      expect(makeShadow(block(1, 1), shadow(kind, { blur }))?.opacities.length).toBeGreaterThan(0)
    }
  })

  it('has a soft edge of at most a quarter of the shorter side', () => {
    const subject = block(300, 100)
    const quarter = made(subject, shadow('drop', { blur: '25%' }))
    expect(quarter).toMatchObject({ box: made(subject, shadow('drop', { blur: '99999px' })).box })
    expect(quarter).toMatchObject({ box: made(subject, shadow('drop', { blur: '25px' })).box })
    expect(quarter.box.width).toBeGreaterThan(made(subject, shadow('drop', { blur: '15px' })).box.width)
  })
})

describe('a drop shadow', () => {
  it.each([
    [0, 0, -1],
    [90, 1, 0],
    [180, 0, 1],
    [270, -1, 0],
    [135, 1, 1],
  ])('at %d degrees falls there', (angle, x, y) => {
    const offset = dropOffset(shadow('drop', { angle }), { width: 200, height: 200 })
    expect([Math.sign(offset.x) + 0, Math.sign(offset.y) + 0]).toEqual([x, y])
  })

  it('without blur is the outline itself, moved', () => {
    const { box, opacities } = made(block(100, 100), shadow('drop', { blur: '0px', angle: 180, opacity: 100 }))
    expect(box).toEqual({ left: 10, top: 7, width: 100, height: 100 })
    expect(opacities.every((value) => value === 255)).toBe(true)
  })
})

describe('a contact shadow', () => {
  it('is dark under the lowest edge and absent above it', () => {
    const { opacityAt } = made(block(200, 100), shadow('contact'))
    expect(opacityAt(110, 106)).toBeGreaterThan(100)
    expect(opacityAt(110, 30)).toBe(0)
    expect(opacityAt(110, 130)).toBe(0)
    expect(opacityAt(110, 106)).toBeGreaterThan(opacityAt(110, 112))
  })

  it('darkens the ground between the wheels of a car', () => {
    const car = block(200, 60)
    // The body ends 12 pixels above the ground, except at the wheels.
    for (let y = 53; y < 65; y++) {
      for (let x = 50; x < 170; x++) car.rgba[(y * car.width + x) * 4 + 3] = 0
    }
    const { opacityAt } = made(car, shadow('contact'))
    expect(opacityAt(110, 62)).toBeGreaterThan(60)
    expect(opacityAt(110, 62)).toBeGreaterThan(opacityAt(110, 55))
  })

  it('is not made for a subject that is nowhere solid', () => {
    const smoke = block(50, 50)
    for (let i = 3; i < smoke.rgba.length; i += 4) smoke.rgba[i] = Math.min(90, smoke.rgba[i] ?? 0)
    expect(makeShadow(smoke, shadow('contact'))).toBeUndefined()
  })
})

describe('a cast shadow', () => {
  it('begins at the foot and gets fainter and softer with the distance', () => {
    const { opacityAt } = made(block(60, 200), shadow('cast', { angle: 90 }))
    const { x, y } = castOffset(shadow('cast', { angle: 90 }), { width: 60, height: 200 })
    expect(x).toBeGreaterThan(100)
    const near = opacityAt(72, 203)
    const far = opacityAt(10 + 30 + Math.round(x * 0.8), 205 + Math.round(y * 0.8))
    expect(near).toBeGreaterThan(far)
    expect(far).toBeGreaterThan(10)
  })

  it('falls behind the subject, or in front of it', () => {
    const behind = made(block(60, 200), shadow('cast', { angle: 30 })).box
    expect(behind.top + behind.height).toBeLessThan(215)
    const before = made(block(60, 200), shadow('cast', { angle: 150 })).box
    expect(before.top).toBeGreaterThan(195)
    expect(made(block(60, 200), shadow('cast', { angle: 210 })).box.left).toBeLessThan(0)
  })

  it('is at most two widths long', () => {
    expect(Math.abs(castOffset(shadow('cast', { angle: 270 }), { width: 10, height: 1_000 }).x)).toBe(20)
  })
})

describe('the size with a shadow', () => {
  const sides = [1, 7, 60, 199, 640]
  const blurs = ['0px', '3px', '8%', '25%']
  const angles = [0, 60, 90, 150, 181, 270, 359]

  it.each(kinds)('bounds every %s shadow', (kind) => {
    for (const width of sides.slice(0, 4)) {
      for (const height of sides.slice(0, 4)) {
        for (const blur of blurs) {
          for (const angle of angles) {
            const wish = shadow(kind, { blur, angle })
            const layer = makeShadow(block(width, height), wish)
            if (layer === undefined) continue
            const { left, top, ...size } = layer.box
            const whole = {
              width: Math.max(left + size.width, 10 + width) - Math.min(left, 10),
              height: Math.max(top + size.height, 5 + height) - Math.min(top, 5),
            }
            const bound = sizeWithShadow(wish, { width, height })
            expect(whole.width).toBeLessThanOrEqual(bound.width)
            expect(whole.height).toBeLessThanOrEqual(bound.height)
          }
        }
      }
    }
  })

  it.each(kinds)('never shrinks when the subject of a %s shadow grows', (kind) => {
    for (const blur of blurs) {
      for (const angle of angles) {
        const wish = shadow(kind, { blur, angle })
        for (const other of [50, 3_000]) {
          let last = { width: 0, height: 0 }
          for (let side = 1; side < 2_000; side += 13) {
            const size = sizeWithShadow(wish, { width: side, height: other })
            expect(size.width).toBeGreaterThanOrEqual(last.width)
            expect(size.height).toBeGreaterThanOrEqual(last.height)
            last = size
          }
        }
      }
    }
  })

  it('is at most eight times the photo, whatever its shape', () => {
    for (const [width, height] of [
      [5_000, 5_000],
      [100, 50_000],
      [50_000, 100],
    ] as const) {
      for (const kind of kinds) {
        for (const angle of angles) {
          const size = sizeWithShadow(shadow(kind, { blur: '25%', angle }), { width, height })
          expect((size.width * size.height) / (width * height)).toBeLessThan(8)
        }
      }
    }
  })
})
