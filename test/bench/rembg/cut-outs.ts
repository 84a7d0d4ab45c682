// Cut-outs from a photo, by a server that the benchmarks compare, and their rate.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import sharp from 'sharp'
import { createClient } from '../../support/client.ts'
import { until } from '../../support/until.ts'
import type { Installation } from '../installation.ts'
import type { Photo } from '../rates.ts'

/** Returns the PNG for a photo. */
export type CutOut = (photo: Photo) => Promise<Uint8Array>

type Size = { readonly width: number; readonly height: number }

/** A JPEG of the lemur. */
export async function photoOf({ width, height }: Size): Promise<Photo> {
  const file = await readFile(join(rootDir, 'test/fixtures/photos/lemur.png'))
  const bytes = await sharp(file).resize(width, height, { fit: 'fill' }).jpeg({ quality: 90 }).toBuffer()
  return { bytes, contentType: 'image/jpeg' }
}

/** Guards against a server that is fast because it returns something else. */
export async function checkSize(png: Uint8Array, { width, height }: Size): Promise<void> {
  const found = await sharp(png).metadata()
  if (found.width === width && found.height === height && found.hasAlpha) return
  throw new Error(`the cut-out is ${found.width} × ${found.height}, alpha ${found.hasAlpha}`)
}

/** Images per second with `concurrency` callers in a closed loop. */
export async function rateOf(
  cutOut: CutOut,
  photo: Photo,
  load: { readonly concurrency: number; readonly seconds: number },
): Promise<number> {
  const begun = performance.now()
  const ends = await Promise.all(
    Array.from({ length: load.concurrency }, async () => {
      let count = 0
      do {
        await cutOut(photo)
        count++
      } while (performance.now() - begun < load.seconds * 1_000)
      return count / (performance.now() - begun)
    }),
  )
  return ends.reduce((sum, each) => sum + each * 1_000, 0)
}

/** Polling interval; on average half of it passes after the end. */
const askEveryMs = 20

/** Upload, task, polls and download by the Developer API. */
export function throughService({ origin, apiKey }: Installation): CutOut {
  const client = createClient(origin, apiKey)
  return async ({ bytes, contentType }) => {
    const imageUrl = await client.upload(bytes, { contentType, fileName: 'photo.jpg' })
    const { id } = await client.createTask({ imageUrl })
    const hasEnded = async () => {
      const seen = await client.getTask(id)
      if (seen.status === 'failed') throw new Error(`task ${id} failed: ${seen.failure?.message}`)
      return seen.status === 'succeeded' && seen
    }
    const { resultUrl } = await until('the task succeeds', hasEnded, { timeoutMs: 120_000, everyMs: askEveryMs })
    const response = await fetch(resultUrl ?? '')
    if (!response.ok) throw new Error(`the result was answered ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  }
}
