// Compares PNG coders on cut-outs: `node test/bench/png-coders.ts`. Prints CPU time and file size relative to the
// worker's coder, the median of several rounds. docs/performance.md says why the worker keeps its own.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, deflateSync, type ZlibOptions } from 'node:zlib'
import { applyOutput } from '@matte/controller/worker/image/apply-output'
import { configureSharp } from '@matte/controller/worker/image/configure'
import { type CutOut, cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import { encodePng } from '@matte/controller/worker/image/encode-png'
import sharp, { type PngOptions } from 'sharp'
import { median } from './median.ts'

const fixtures = join(import.meta.dirname, '../fixtures')
const rounds = 16

configureSharp()
const mask = await sharp(readFileSync(join(fixtures, 'lemur-mask-320.png')))
  .toColourspace('b-w')
  .raw()
  .toBuffer()

type Input = { readonly image: CutOut; readonly rows: Uint8Array }

const withSharp =
  (options: PngOptions) =>
  async ({ image: { rgba, width, height } }: Input) => {
    return (
      await sharp(rgba, { raw: { width, height, channels: 4 } })
        .png(options)
        .toBuffer()
    ).length
  }
/** Other settings of zlib for rows that are filtered already; the worker's time includes the filter. */
const withZlib =
  (options: ZlibOptions) =>
  ({ rows }: Input) =>
    deflateSync(rows, { memLevel: 9, chunkSize: rows.length >> 1, ...options }).length

const coders: Readonly<Record<string, (input: Input) => number | Promise<number>>> = {
  worker: ({ image }) => encodePng(applyOutput(image, null)).length,
  'sharp, level 1': withSharp({ compressionLevel: 1, adaptiveFiltering: false }),
  'sharp, level 1, filters': withSharp({ compressionLevel: 1, adaptiveFiltering: true }),
  'sharp, level 2, filters': withSharp({ compressionLevel: 2, adaptiveFiltering: true }),
  'zlib, run lengths': withZlib({ level: 1, strategy: constants.Z_RLE }),
  'zlib, Huffman codes only': withZlib({ level: 1, strategy: constants.Z_HUFFMAN_ONLY }),
  'zlib, level 1': withZlib({ level: 1 }),
}

for (const [name, width] of [
  ['lemur.png', 680],
  ['lemur.png', 1236],
  ['astronaut.png', 512],
  ['coffee.png', 600],
] as const) {
  const file = await sharp(readFileSync(join(fixtures, 'photos', name)))
    .removeAlpha()
    .resize({ width })
    .png()
    .toBuffer()
  const photo = await decodePhoto(file, 60_000_000)
  const image = cutOut(photo, mask)
  const rows = filterAverage(image)
  process.stdout.write(`\n${name}, ${image.width} x ${image.height}\n`)
  let own = { ms: Number.NaN, bytes: Number.NaN }
  for (const [coder, encode] of Object.entries(coders)) {
    const measured = await measure(() => encode({ image: { ...image, rgba: image.rgba.slice() }, rows }))
    if (coder === 'worker') own = measured
    const { ms, bytes } = measured
    const ratios = `time ${(ms / own.ms).toFixed(2)}, size ${(bytes / own.bytes).toFixed(3)}`
    process.stdout.write(`  ${coder.padEnd(26)} ${ms.toFixed(1).padStart(6)} CPU ms ${bytes} bytes  ${ratios}\n`)
  }
}

async function measure(encode: () => number | Promise<number>): Promise<{ ms: number; bytes: number }> {
  const times: number[] = []
  let bytes = 0
  for (let round = 0; round < 2 * rounds; round++) {
    const before = process.cpuUsage()
    bytes = await encode()
    const { user, system } = process.cpuUsage(before)
    if (round >= rounds) times.push((user + system) / 1_000)
  }
  return { ms: median(times), bytes }
}

function filterAverage({ rgba, width, height }: CutOut): Uint8Array {
  const stride = width * 4
  const rows = new Uint8Array(height * (stride + 1))
  for (let y = 0, at = 0, i = 0; y < height; y++) {
    rows[at++] = 3
    for (let x = 0; x < stride; x++, i++) {
      const left = x >= 4 ? (rgba[i - 4] ?? 0) : 0
      const above = y > 0 ? (rgba[i - stride] ?? 0) : 0
      rows[at++] = (rgba[i] ?? 0) - ((left + above) >> 1)
    }
  }
  return rows
}
