import { describe, expect, it } from 'vitest'
import { measureViews } from './confidence.ts'
import { cutOut } from './cut-out.ts'
import type { Photo } from './sample-cells.ts'

const size = 320

type Colour = (x: number, y: number) => readonly [number, number, number]

/** A photo of 640 × 640 pixels; `x` and `y` are shares of a side. */
function photoOf(colour: Colour): Photo {
  const pixels = new Uint8Array(640 * 640 * 3)
  for (let i = 0; i < 640 * 640; i++) pixels.set(colour((i % 640) / 640, Math.floor(i / 640) / 640), i * 3)
  return { pixels, channels: 3, width: 640, height: 640 }
}

/** A disc in the middle whose edge is `edge` mask pixels wide. */
function discOf({ radius = 0.3, edge = 4 }: { readonly radius?: number; readonly edge?: number } = {}): Uint8Array {
  return Uint8Array.from({ length: size * size }, (_, i) => {
    const distance = Math.hypot((i % size) / size - 0.5, Math.floor(i / size) / size - 0.5)
    return Math.max(0, Math.min(255, 127 + ((radius - distance) * size * 255) / edge))
  })
}

const isInside = (x: number, y: number): boolean => Math.hypot(x - 0.5, y - 0.5) < 0.3
/** A red disc in a blue ring up to this radius, red beyond it; edges are three pixels wide. */
const ringOf = (radius: number): Photo =>
  photoOf((x, y) => {
    const distance = Math.hypot(x - 0.5, y - 0.5)
    const share = Math.min(1, Math.max(0, 0.5 + (Math.max(0.3 - distance, distance - radius) * 640) / 6))
    return [40 + 160 * share, 60, 200 - 160 * share]
  })
const clear = ringOf(1)

const confidence = (photo: Photo, mask: Uint8Array, other?: Uint8Array): number | undefined =>
  cutOut(photo, mask, measureViews(mask, other)).confidence

describe('the confidence', () => {
  it('is high for a subject whose outline the photo shows, in steps of 0.01', () => {
    const value = confidence(clear, discOf(), discOf()) as number
    expect(value).toBeGreaterThan(0.7)
    expect(Math.round(value * 100) / 100).toBe(value)
  })

  it('falls when the mask is unsure, when the views disagree, and when both sides have the same colours', () => {
    const sure = confidence(clear, discOf(), discOf()) as number
    const unsure = confidence(clear, discOf({ edge: 120 }), discOf({ edge: 120 }))
    const disagreeing = confidence(clear, discOf(), discOf({ radius: 0.2 }))
    const alike = confidence(ringOf(0.33), discOf(), discOf())
    expect(unsure).toBeLessThan(sure - 0.2)
    expect(disagreeing).toBeLessThan(sure - 0.1)
    expect(alike).toBeLessThan(sure - 0.3)
  })

  it('is 0 when nothing was found', () => {
    expect(confidence(clear, discOf({ radius: -1 }))).toBe(0)
  })

  it('is absent for masks without values between, which give no measure', () => {
    const hard = discOf().map((value) => (value >= 128 ? 255 : 0))
    expect(confidence(clear, hard, hard)).toBeUndefined()
    expect(
      confidence(
        photoOf((x, y) => (isInside(x, y) ? [0, 0, 0] : [255, 255, 255])),
        hard,
      ),
    ).toBeUndefined()
  })
})
