// Each file of the torture set has exactly one outcome, and none ends the process.
import type { CutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import { describe, expect, it } from 'vitest'
import { greyPng } from '../support/photos.ts'
import { tortureCases } from './cases/all-cases.ts'
import { size } from './cases/colours.ts'
import type { Cut, TortureCase } from './cases/outcome.ts'
import { pngHeader, pngSignature } from './files/png-parts.ts'
import { maxPixels, takeCutOut } from './take.ts'

/** Red, green, blue and alpha in the middle of each quarter. */
const cornersOf = ({ rgba, width: across, height: down }: CutOut) =>
  [0.25, 0.75].flatMap((y) =>
    [0.25, 0.75].map((x) => {
      const at = (Math.floor(y * down) * across + Math.floor(x * across)) * 4
      return [...rgba.subarray(at, at + 4)]
    }),
  )

function expectCut(result: CutOut, { width: across, height: down, corners, within = 0 }: Cut): void {
  expect([result.width, result.height, result.rgba.length]).toEqual([across, down, across * down * 4])
  if (corners === undefined) return
  const expected = corners.map((colour) => [...colour, 255].slice(0, 4))
  const actual = cornersOf(result)
  const furthest = Math.max(...actual.flat().map((value, i) => Math.abs(value - (expected.flat()[i] ?? Number.NaN))))
  expect(furthest, `${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`).toBeLessThanOrEqual(within)
}

async function expectOutcome({ make, outcome }: TortureCase): Promise<void> {
  const file = await make()
  if (typeof outcome !== 'string') return expectCut(await takeCutOut(file), outcome)
  await expect(takeCutOut(file)).rejects.toMatchObject({ name: 'ImageError', reason: outcome })
}

describe('a file of the torture set', () => {
  it('has a unique name, and the picture is large enough to check', () => {
    expect(new Set(tortureCases.map(({ name }) => name)).size).toBe(tortureCases.length)
    expect(size.width).toBeGreaterThan(16)
  })

  it.each(tortureCases.filter(({ isHeavy }) => !isHeavy))('$name: $outcome', expectOutcome)
  it.each(tortureCases.filter(({ isHeavy }) => isHeavy))('$name: $outcome', expectOutcome, 60_000)

  it('has the same outcome beside others: warnings of C libraries are not mixed up', async () => {
    const jpegs = tortureCases.filter(({ name, isHeavy }) => /^JPEG (of noise|with|that claims)/.test(name) && !isHeavy)
    for (let round = 0; round < 3; round++) await Promise.all(jpegs.map(expectOutcome))
  })
})

describe('the pixel limit', () => {
  it('accepts exactly the maximum', { timeout: 60_000 }, async () => {
    expect(maxPixels).toBe(50_000_000)
    expectCut(await takeCutOut(greyPng(10_000, 5_000)), { width: 10_000, height: 5_000 })
  })

  it('rejects one more, whatever follows the header', async () => {
    const header = pngHeader({ width: 42_123, height: 1_187, depth: 1, type: 'grey', interlaced: false })
    const over = Buffer.concat([pngSignature, header, greyPng(8, 8).subarray(33)])
    await expect(takeCutOut(over)).rejects.toMatchObject({ reason: 'INPUT_TOO_LARGE' })
  })
})
