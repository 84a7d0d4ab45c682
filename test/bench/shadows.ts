// `make bench ARGS=pixels`: CPU time that a shadow adds to a cut-out of one megapixel, beside the PNG's. The subject's
// box covers all of the image, the costliest case.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { applyOutput } from '@matte/controller/worker/image/apply-output'
import { configureHeap } from '@matte/controller/worker/image/configure'
import { cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import { findForeground } from '@matte/controller/worker/image/cut-out/foreground'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import { encodePng } from '@matte/controller/worker/image/encode-png'
import { defaultOutput, shadowDefaults, shadowKinds } from '@matte/core/task/output'
import { rootDir } from '@matte/local/paths'
import sharp from 'sharp'
import { median } from './median.ts'
import type { Row } from './row.ts'

const [width, height] = [1_243, 804]
const images = 10

export async function measureShadows({ rounds }: { readonly rounds: number }): Promise<Row[]> {
  configureHeap()
  const fixtures = join(rootDir, 'test/fixtures')
  const photo = await decodePhoto(readFileSync(join(fixtures, 'photos/lemur.png')), width * height)
  const mask = await sharp(readFileSync(join(fixtures, 'lemur-mask-320.png')))
    .toColourspace('b-w')
    .raw()
    .toBuffer()
  const { pixels: cropped, ...raw } = applyOutput(cutOut(photo, mask), { ...defaultOutput, crop: true })
  const pixels = await sharp(cropped, { raw }).resize(width, height, { fit: 'fill', kernel: 'cubic' }).raw().toBuffer()
  const rgba = new Uint8Array(pixels)
  const foreground = findForeground(rgba, width, height)
  return shadowKinds.map((kind) => {
    const output = { ...defaultOutput, shadow: { kind, ...shadowDefaults[kind] } }
    const measure = (wish: typeof output | null): { readonly ms: number; readonly pngMs: number } => {
      const copies = Array.from({ length: images }, () => ({ rgba: rgba.slice(), width, height, foreground }))
      const begun = process.cpuUsage()
      const results = copies.map((copy) => applyOutput(copy, wish))
      const ms = cpuMs(begun)
      const encodeBegun = process.cpuUsage()
      for (const result of results) encodePng(result)
      return { ms: ms / images, pngMs: cpuMs(encodeBegun) / images }
    }
    // V8 optimises for some fifty images.
    for (let warm = 0; warm < 6; warm++) measure(output)
    const rows = Array.from({ length: rounds }, () => ({ bare: measure(null), shaded: measure(output) }))
    const of = (take: (row: (typeof rows)[number]) => number): number => median(rows.map(take))
    const [bare, shaded] = [of((row) => row.bare.pngMs), of((row) => row.shaded.pngMs)]
    return {
      name: `CPU ms of a ${kind} shadow, 1 MP`,
      ratio: of((row) => row.shaded.ms - row.bare.ms),
      target: { atMost: 12 },
      detail: `PNG ${bare.toFixed(1)} ms without it, ${shaded.toFixed(1)} ms with it`,
    }
  })
}

function cpuMs(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}
