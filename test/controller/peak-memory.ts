// Program of memory.faults.test.ts: processes the files in its arguments like the worker, and prints the peak memory of
// each.
import { readFileSync, writeFileSync } from 'node:fs'
import { configureHeap, configureSharp } from '@matte/controller/worker/image/configure'
import { decodePhoto, readHeader } from '@matte/controller/worker/image/decode'
import { encodeResult } from '@matte/controller/worker/image/encode'
import { freeBytes } from '@matte/controller/worker/image/free-bytes'
import { modelBytes, pixelBytes } from '@matte/controller/worker/image/image-memory'
import { createImagePool } from '@matte/controller/worker/image/image-pool'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import type { Output, Shadow } from '@matte/core/db/tables/task'
import { defaultOutput, shadowDefaults } from '@matte/core/task/output'
import { until } from '../support/until.ts'

export type Peak = {
  readonly name: string
  /** Above the level before, without the file. */
  readonly addedBytes: number
  /** Limit by the formula. */
  readonly allowedBytes: number
}

const pixelsMax = 50_000_000

const memoryBytes = (field: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1_024

/** Resets VmHWM. */
const forgetPeak = (): void => writeFileSync('/proc/self/clear_refs', '5')

/** jemalloc returns freed memory over a second; glibc does so at once. */
async function untilGivenBack(): Promise<void> {
  let last = memoryBytes('VmRSS')
  let calm = 0
  const isCalm = (): boolean => {
    const now = memoryBytes('VmRSS')
    calm = now < last ? 0 : calm + 1
    last = now
    return calm > 4
  }
  if (process.env.LD_PRELOAD) await until('freed memory is given back', isCalm, { everyMs: 300 })
}

async function measure(path: string, wish: Output): Promise<Omit<Peak, 'name'>> {
  await untilGivenBack()
  const before = memoryBytes('VmRSS')
  forgetPeak()
  const file = readFileSync(path)
  const fileBytes = file.length
  const header = await readHeader(file, pixelsMax)
  const photo = await decodePhoto(file, pixelsMax, header)
  const whileFileIsHeld = memoryBytes('VmHWM') - before - fileBytes
  freeBytes(file)
  forgetPeak()
  freeBytes(await toModelInput(photo, 320))
  const mask = wish.scale === 'original' ? new Uint8Array(320 * 320).fill(255) : middleMask()
  const made = await pool.cutOut({ photo, mask, output: wish })
  const result = 'file' in made ? made : await encodeResult(made, wish)
  const afterwards = memoryBytes('VmHWM') - before
  freeBytes(result.file)
  return {
    addedBytes: Math.max(whileFileIsHeld, afterwards),
    allowedBytes: pixelBytes(header, wish, pixelsMax) + modelBytes(320),
  }
}

const growing = (kind: Shadow['kind']): Shadow => ({
  kind,
  ...shadowDefaults[kind],
  blur: '25%',
  angle: 135,
  grow: true,
})

function middleMask(): Uint8Array {
  const mask = new Uint8Array(320 * 320)
  for (let row = 80; row < 240; row++) mask.fill(255, row * 320 + 80, row * 320 + 240)
  return mask
}

configureHeap()
configureSharp()
const pool = createImagePool(1)
// The first, small file loads what each process needs once.
for (const argument of process.argv.slice(2)) {
  const [path = '', format = 'png', scale = 'original', kind] = argument.split('=')
  const shadow = kind === undefined ? null : growing(kind as Shadow['kind'])
  const peak = await measure(path, { ...defaultOutput, format: format as Output['format'], scale, shadow })
  process.stdout.write(`${JSON.stringify({ name: argument, ...peak } satisfies Peak)}\n`)
}
await pool.close()
