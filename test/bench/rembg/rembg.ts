// `make bench ARGS=rembg`: images per second through the service, relative to rembg's HTTP server on the same cores.
// Callers of both send a photo and wait for the cut-out. The Developer API needs more requests: upload, task, polls and
// download. The door takes the same request as rembg.
import { createInstallation } from '../installation.ts'
import { median } from '../median.ts'
import type { ModelOptions } from '../model.ts'
import type { Row } from '../row.ts'
import { type CutOut, checkSize, photoOf, rateOf, throughService } from './cut-outs.ts'
import { viewsOf } from './served-views.ts'
import { startDoor } from './start-door.ts'
import { askRembg, startRembg } from './start-rembg.ts'

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
  const photo = await photoOf({ width, height })
  for (const cutOut of Object.values(servers)) await checkSize(await cutOut(photo), { width, height })
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
