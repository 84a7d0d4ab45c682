// Program that runs the torture set through all C libraries in rounds and prints the memory after each: `node
// --expose-gc test/torture/rounds.ts ROUNDS`.
import { readFileSync } from 'node:fs'
import { configureHeap } from '@matte/controller/worker/image/configure'
import { decodePhoto, readHeader } from '@matte/controller/worker/image/decode'
import { encodeResult } from '@matte/controller/worker/image/encode'
import { freeBytes } from '@matte/controller/worker/image/free-bytes'
import { ImageError } from '@matte/controller/worker/image/image-error'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import type { Output } from '@matte/core/db/tables/task'
import { tortureCases } from './cases/all-cases.ts'
import { maxPixels } from './take.ts'

const files = await Promise.all(tortureCases.filter(({ isHeavy }) => !isHeavy).map(({ make }) => make()))

async function take(file: Uint8Array, format: Output['format']): Promise<void> {
  const photo = await decodePhoto(file, maxPixels, await readHeader(file, maxPixels))
  freeBytes(await toModelInput(photo, 320))
  const wish = { format: format === 'jpeg' && photo.channels === 4 ? 'png' : format, maxSide: 8_000 } as const
  freeBytes((await encodeResult({ ...photo, foreground: null }, wish)).file)
  freeBytes(photo.pixels)
}

/** Other errors are not caught and end the program. */
async function takeAll(round: number): Promise<void> {
  for (const [index, file] of files.entries()) {
    try {
      await take(file, (['png', 'webp', 'jpeg'] as const)[(index + round) % 3] ?? 'png')
    } catch (error) {
      if (!(error instanceof ImageError)) throw error
    }
  }
}

const residentBytes = (): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1_024

configureHeap()
for (let round = 1; round <= Number(process.argv[2]); round++) {
  await takeAll(round)
  globalThis.gc?.()
  process.stdout.write(`${residentBytes()}\n`)
}
