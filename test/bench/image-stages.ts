// CPU time of everything around the model, stage by stage: `node test/bench/image-stages.ts [megapixels …]`.
// Runs lemur.png at its own size, at one megapixel and at the given sizes, as PNG and as JPEG. Times are CPU
// milliseconds of the whole process (sharp works in libuv's threads), the median of several rounds after a warm-up.
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { applyOutput } from '@matte/controller/worker/image/apply-output'
import { configureHeap, configureSharp } from '@matte/controller/worker/image/configure'
import { cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import { decodePhoto, readHeader } from '@matte/controller/worker/image/decode'
import { encodePng } from '@matte/controller/worker/image/encode-png'
import { createImagePool } from '@matte/controller/worker/image/image-pool'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import sharp from 'sharp'

const fixtures = join(import.meta.dirname, '../fixtures')
const maxPixels = 60_000_000
const megapixels = process.argv.slice(2).map(Number)

configureHeap()
configureSharp()
const lemur = readFileSync(join(fixtures, 'photos/lemur.png'))
const mask = await sharp(readFileSync(join(fixtures, 'lemur-mask-320.png')))
  .toColourspace('b-w')
  .raw()
  .toBuffer()
const pool = createImagePool(availableParallelism())

const sizes: [width: number, height: number][] = [
  [680, 440],
  [1243, 804],
  ...megapixels.map((count): [number, number] => {
    const height = Math.round(Math.sqrt((count * 1e6 * 440) / 680))
    return [Math.round((height * 680) / 440), height]
  }),
]

process.stdout.write(`${cpus()[0]?.model}, ${availableParallelism()} cores, Node ${process.version}\n`)
for (const [width, height] of sizes) {
  const enlarged = sharp(lemur).removeAlpha().resize(width, height, { fit: 'fill', kernel: 'cubic' })
  await measureStages('png', await enlarged.clone().png().toBuffer(), width * height)
  await measureStages('jpeg', await enlarged.jpeg({ quality: 90 }).toBuffer(), width * height)
}
await pool.close()

async function measureStages(format: string, file: Buffer, pixels: number): Promise<void> {
  const rounds = Math.max(3, Math.min(30, Math.round(2e7 / pixels)))
  const photo = await decodePhoto(file, maxPixels)
  const { width, height } = photo
  const bytes = encodePng(applyOutput(cutOut(photo, mask), null)).length
  const photos = await Promise.all(
    Array.from({ length: 2 * rounds }, () => ({ ...photo, pixels: photo.pixels.slice() })),
  )
  const stages: [name: string, run: () => unknown][] = [
    ['readHeader', () => readHeader(file, maxPixels)],
    ['decodePhoto', () => decodePhoto(file, maxPixels)],
    ['toModelInput', () => toModelInput(photo, 320)],
    // Includes its PNG. Each call consumes the pixels, hence the copies.
    ['pool.cutOut', () => pool.cutOut({ photo: photos.pop() ?? photo, mask, output: null })],
  ]
  process.stdout.write(`\n${width} x ${height} ${format}, ${file.length} bytes in, ${bytes} bytes out\n`)
  let sum = 0
  for (const [name, run] of stages) {
    const { cpuMs, wallMs } = await measure(run, rounds)
    sum += cpuMs
    process.stdout.write(
      `  ${name.padEnd(14)} ${cpuMs.toFixed(1).padStart(8)} CPU ms ${wallMs.toFixed(1).padStart(8)} ms\n`,
    )
  }
  process.stdout.write(`  ${'all'.padEnd(14)} ${sum.toFixed(1).padStart(8)} CPU ms\n`)
}

async function measure(run: () => unknown, rounds: number): Promise<{ cpuMs: number; wallMs: number }> {
  const cpu: number[] = []
  const wall: number[] = []
  for (let round = 0; round < 2 * rounds; round++) {
    const cpuBefore = process.cpuUsage()
    const before = performance.now()
    await run()
    const { user, system } = process.cpuUsage(cpuBefore)
    if (round < rounds) continue
    cpu.push((user + system) / 1000)
    wall.push(performance.now() - before)
  }
  return { cpuMs: median(cpu), wallMs: median(wall) }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
