import { afterEach, describe, expect, it, vi } from 'vitest'
import { cutOut } from './cut-out.ts'
import type { Photo } from './sample-cells.ts'

const maskSize = 320

const maskOf = (probability: (x: number, y: number) => number): Uint8Array =>
  Uint8Array.from({ length: maskSize * maskSize }, (_, i) =>
    Math.round(255 * probability(((i % maskSize) + 0.5) / maskSize, (Math.floor(i / maskSize) + 0.5) / maskSize)),
  )

type Colour = readonly [red: number, green: number, blue: number]
type Scene = { readonly photo: Photo; readonly alpha: Float64Array }

/** `alpha`: true alpha at a position, 0..1 on both axes. */
function draw(
  [width, height]: readonly [number, number],
  alpha: (x: number, y: number) => number,
  [subject, background]: readonly [(x: number, y: number) => Colour, (x: number, y: number) => Colour],
): Scene {
  const truth = new Float64Array(width * height)
  const pixels = new Uint8Array(width * height * 3)
  for (let i = 0; i < truth.length; i++) {
    const [x, y] = [((i % width) + 0.5) / width, (Math.floor(i / width) + 0.5) / height]
    const share = alpha(x, y)
    truth[i] = share
    const [front, back] = [subject(x, y), background(x, y)]
    for (let k = 0; k < 3; k++) pixels[i * 3 + k] = share * (front[k] ?? 0) + (1 - share) * (back[k] ?? 0)
  }
  return { photo: { pixels, channels: 3, width, height }, alpha: truth }
}

/** Mean absolute error of alpha, 0..1. */
function errorOf({ photo, alpha }: Scene, mask: Uint8Array): number {
  const { rgba } = cutOut(photo, mask)
  return (
    alpha.reduce((sum, truth, i) => sum + Math.abs(truth - (rgba[i * 4 + 3] ?? Number.NaN) / 255), 0) / alpha.length
  )
}

/** Counts the bytes of all typed arrays created from now on, including collected ones. */
function countAllocations(): { bytes: number } {
  const counted = { bytes: 0 }
  const kinds = { Uint8Array, Uint8ClampedArray, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array }
  for (const [name, kind] of Object.entries(kinds)) {
    class Counted extends (kind as Uint8ArrayConstructor) {
      constructor(...args: [length: number]) {
        super(...args)
        const [source] = args as unknown[]
        if (!(source instanceof ArrayBuffer)) counted.bytes += this.byteLength
      }
    }
    vi.stubGlobal(name, Counted)
  }
  return counted
}

const clamp = (value: number) => Math.min(1, Math.max(0, value))
const orange = (x: number): Colour => [200 + 40 * x, 120, 40]
const blue = (_: number, y: number): Colour => [30, 60 + 50 * y, 150]
const blurredDisc = maskOf((x, y) => clamp((0.3 - Math.hypot(x - 0.5, y - 0.5)) / 0.08 + 0.5))

describe('refine', () => {
  afterEach(() => void vi.unstubAllGlobals())

  it('finds a soft edge narrower than in the mask', () => {
    const disc = (x: number, y: number) => clamp((0.3 - Math.hypot(x - 0.5, y - 0.5)) / 0.02 + 0.5)
    const scene = draw([400, 400], disc, [orange, blue])
    // The stretched mask has 0.0197, the guided filter alone 0.0064.
    expect(errorOf(scene, blurredDisc)).toBeLessThan(0.003)
  })

  it('finds gaps that the mask blurred', () => {
    const bars = (x: number, y: number) =>
      Math.hypot(x - 0.5, y - 0.5) < 0.2 || (Math.hypot(x - 0.5, y - 0.5) < 0.26 && (x * 40) % 1 < 0.5) ? 1 : 0
    const scene = draw([400, 400], bars, [orange, blue])
    const blurred = maskOf((x, y) => {
      const away = Math.hypot(x - 0.5, y - 0.5)
      return away < 0.2 ? 1 : away < 0.26 ? 0.5 : 0
    })
    expect(errorOf(scene, blurred)).toBeLessThan(0.02)
  })

  it('keeps the mask for a photo of one colour', () => {
    const grey = (): Colour => [90, 90, 90]
    const soft = (x: number, y: number) => clamp((0.3 - Math.hypot(x - 0.5, y - 0.5)) / 0.08 + 0.5)
    expect(errorOf(draw([300, 300], soft, [grey, grey]), blurredDisc)).toBeLessThan(0.015)
  })

  it.each([
    [20_000, 1],
    [1, 20_000],
    [1, 1],
    [2, 4],
  ])('keeps solid areas solid and clear areas clear at %i x %i', (width, height) => {
    const half = (_: number, y: number) => (height === 1 ? 1 : y < 0.5 ? 1 : 0)
    const { photo, alpha } = draw([width, height], half, [orange, blue])
    const { rgba } = cutOut(
      photo,
      maskOf((_, y) => half(0, y)),
    )
    const wrong = alpha.filter((truth, i) => Math.abs(truth * 255 - (rgba[i * 4 + 3] ?? Number.NaN)) > 64)
    expect(wrong.length).toBeLessThanOrEqual(alpha.length / 100)
  })

  it('allocates at most 24 MB beside the result, even if every cell is unsettled', () => {
    const noise = (x: number, y: number): Colour => [(x * 7919) % 256, (y * 6007) % 256, ((x + y) * 9973) % 256]
    const { photo } = draw([300, 300], () => 1, [noise, noise])
    const doubtful = Uint8Array.from({ length: maskSize * maskSize }, (_, i) => (i % 7 === 0 ? 255 : 60 + (i % 113)))
    const allocated = countAllocations()
    const { rgba, foreground } = cutOut(photo, doubtful)
    vi.unstubAllGlobals()
    expect(allocated.bytes).toBeGreaterThan(rgba.length)
    expect(allocated.bytes - rgba.length).toBeLessThan(24e6)
    expect(foreground).not.toBeNull()
    // No window model diverged: the result is neither all clear nor all solid.
    const alphas = rgba.filter((_, i) => i % 4 === 3)
    const mean = alphas.reduce((sum, value) => sum + value, 0) / alphas.length
    expect(mean).toBeGreaterThan(60)
    expect(mean).toBeLessThan(200)
  })
})
