// `make bench ARGS=rembg`: images per second through the service, relative to rembg's HTTP server on the same cores.
// Callers of both send a photo and wait for the cut-out. The Developer API needs more requests: upload, task, polls and
// download. The door takes the same request as rembg.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import sharp from 'sharp'
import { createClient } from '../../support/client.ts'
import { until } from '../../support/until.ts'
import { createInstallation, type Installation } from '../installation.ts'
import { median } from '../median.ts'
import type { ModelOptions } from '../model.ts'
import type { Photo } from '../rates.ts'
import type { Row } from '../row.ts'
import { viewsOf } from './served-views.ts'
import { startDoor } from './start-door.ts'
import { askRembg, startRembg } from './start-rembg.ts'

type CutOut = (photo: Photo) => Promise<Uint8Array>

type Case = {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly concurrency: number
  /** Targets by the number of views. */
  readonly atLeast: Readonly<Record<1 | 2, number>>
}

const cases: readonly Case[] = [
  { name: '1 megapixel, 4 at once', width: 1236, height: 810, concurrency: 4, atLeast: { 1: 2.5, 2: 1.45 } },
  { name: '1 megapixel, one at a time', width: 1236, height: 810, concurrency: 1, atLeast: { 1: 1.5, 2: 1.2 } },
  { name: '12 megapixels, 4 at once', width: 4288, height: 2800, concurrency: 4, atLeast: { 1: 2.5, 2: 2 } },
]

export async function measureRembg({ rounds, seconds, say }: ModelOptions): Promise<Row[]> {
  const rembg = await startRembg()
  try {
    const installation = await createInstallation()
    try {
      const views = await viewsOf(installation)
      const door = await startDoor(installation)
      const throughDoor: CutOut = (photo) => askRembg(door.url, photo)
      const servers = { rembg: rembg.cutOut, service: throughService(installation), door: throughDoor }
      const rows: Row[] = []
      for (const each of cases) rows.push(...(await measureCase(servers, each, { views, rounds, seconds, say })))
      await door.stop()
      return rows
    } finally {
      await installation.remove()
    }
  } finally {
    await rembg.stop()
  }
}

type Servers = Readonly<Record<'rembg' | 'service' | 'door', CutOut>>

/** Alternates, so changes of the machine's speed affect all. */
async function measureCase(
  servers: Servers,
  { name, width, height, concurrency, atLeast }: Case,
  { views, rounds, seconds, say }: ModelOptions & { readonly views: 1 | 2 },
): Promise<Row[]> {
  const file = await readFile(join(rootDir, 'test/fixtures/photos/lemur.png'))
  const bytes = await sharp(file).resize(width, height, { fit: 'fill' }).jpeg({ quality: 90 }).toBuffer()
  const photo = { bytes, contentType: 'image/jpeg' }
  for (const cutOut of Object.values(servers)) await checkSize(await cutOut(photo), width, height)
  const rates = { rembg: [] as number[], service: [] as number[], door: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const server of ['rembg', 'service', 'door'] as const) {
      rates[server].push(await rateOf(servers[server], photo, { concurrency, seconds }))
    }
    const line = Object.entries(rates).map(([server, all]) => `${server} ${all.at(-1)?.toFixed(2)}/s`)
    say(`${name}, round ${round + 1} of ${rounds}: ${line.join(', ')}`)
  }
  const other = median(rates.rembg)
  return (['service', 'door'] as const).map((server) => {
    const own = median(rates[server])
    return {
      name: `${server} ÷ rembg s, u2netp, ${name}`,
      ratio: own / other,
      target: { atLeast: atLeast[views] },
      detail: `${own.toFixed(2)}/s with ${views} ${views === 1 ? 'view' : 'views'}, rembg ${other.toFixed(2)}/s`,
    }
  })
}

/** Guards against a server that is fast because it returns something else. */
async function checkSize(png: Uint8Array, width: number, height: number): Promise<void> {
  const found = await sharp(png).metadata()
  if (found.width === width && found.height === height && found.hasAlpha) return
  throw new Error(`the cut-out is ${found.width} × ${found.height}, alpha ${found.hasAlpha}`)
}

/** Images per second with `concurrency` callers in a closed loop. */
async function rateOf(cutOut: CutOut, photo: Photo, load: { concurrency: number; seconds: number }): Promise<number> {
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

function throughService({ origin, apiKey }: Installation): CutOut {
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
