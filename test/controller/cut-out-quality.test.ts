import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { gradientError, type Matte, mae, softIou, stretchMask } from '../support/matte-metrics.ts'

// Effect of the refinement on a photo with a known matte. The mask is a file with u2netp's output (onnxruntime 1.31.1),
// so only the refinement can change the numbers.

const fixtures = join(import.meta.dirname, '../fixtures')

async function readGrey(path: string): Promise<Matte> {
  const { data, info } = await sharp(readFileSync(join(fixtures, path)))
    .toColourspace('b-w')
    .raw()
    .toBuffer({ resolveWithObject: true })
  return { alpha: data, width: info.width, height: info.height }
}

const alphaOf = ({ rgba, width, height }: { rgba: Uint8Array; width: number; height: number }): Matte => ({
  alpha: Uint8Array.from({ length: width * height }, (_, i) => rgba[i * 4 + 3] ?? 0),
  width,
  height,
})

const photo = await decodePhoto(readFileSync(join(fixtures, 'photos/lemur.png')), 50_000_000)
const { alpha: mask } = await readGrey('lemur-mask-320.png')
const truth = await readGrey('photos/lemur-alpha.png')
const result = cutOut(photo, mask)
const matte = alphaOf(result)
const plainGradientError = gradientError(stretchMask(mask, truth.width, truth.height), truth)

describe('the cut-out of lemur.png', () => {
  it('agrees with the true matte: soft IoU at least 0.970, mean absolute error at most 0.0105', () => {
    expect(softIou(matte, truth)).toBeGreaterThanOrEqual(0.97)
    expect(mae(matte, truth)).toBeLessThanOrEqual(0.0105)
  })

  it('has edges at least 10 % nearer to the true ones than the stretched mask', () => {
    expect(gradientError(matte, truth)).toBeLessThanOrEqual(0.9 * plainGradientError)
  })

  it('stays as good as when tuned (soft IoU 0.9830, error 0.0063, gradient error 5.5 of 26.8)', () => {
    expect(softIou(matte, truth)).toBeGreaterThanOrEqual(0.982)
    expect(mae(matte, truth)).toBeLessThanOrEqual(0.0067)
    expect(gradientError(matte, truth)).toBeLessThanOrEqual(0.23 * plainGradientError)
  })

  it('has less of the old green in soft pixels than the photo', async () => {
    let kept = 0
    let had = 0
    for (let i = 0; i < matte.alpha.length; i++) {
      const alpha = matte.alpha[i] ?? 0
      if (alpha < 25 || alpha > 230) continue
      const greenness = (bytes: Uint8Array, at: number) =>
        (bytes[at + 1] ?? 0) - ((bytes[at] ?? 0) + (bytes[at + 2] ?? 0)) / 2
      kept += greenness(result.rgba, i * 4)
      had += greenness(photo.pixels, i * photo.channels)
    }
    expect(kept).toBeLessThan(had * 0.6)
  })
})
