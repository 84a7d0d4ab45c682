// `make bench ARGS=door`: images per second through the door for remove.bg, relative to the Developer API of the same
// installation. A caller of the door sends one request; the Developer API needs upload, task, polls and download.
import { createInstallation } from '../installation.ts'
import { median } from '../median.ts'
import type { ModelOptions } from '../model.ts'
import type { Photo } from '../rates.ts'
import type { Row } from '../row.ts'
import { type CutOut, checkSize, photoOf, rateOf, throughService } from './cut-outs.ts'

const cases = [
  { name: '1 megapixel, one at a time', width: 1_236, height: 810, concurrency: 1 },
  { name: '1 megapixel, 4 at once', width: 1_236, height: 810, concurrency: 4 },
  { name: '12 megapixels, 4 at once', width: 4_288, height: 2_800, concurrency: 4 },
] as const

export async function measureDoor({ rounds, seconds, say }: ModelOptions): Promise<Row[]> {
  const installation = await createInstallation()
  try {
    const servers = { service: throughService(installation), door: throughDoor(installation) }
    const rows: Row[] = []
    for (const each of cases) rows.push(await measureCase(servers, each, { rounds, seconds, say }))
    return rows
  } finally {
    await installation.remove()
  }
}

type Servers = Readonly<Record<'service' | 'door', CutOut>>

/** Alternates, so changes of the machine's speed affect both. */
async function measureCase(
  servers: Servers,
  { name, concurrency, ...size }: (typeof cases)[number],
  { rounds, seconds, say }: ModelOptions,
): Promise<Row> {
  const photo = await photoOf(size)
  for (const cutOut of Object.values(servers)) await checkSize(await cutOut(photo), size)
  const rates = { service: [] as number[], door: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const server of ['service', 'door'] as const) {
      rates[server].push(await rateOf(servers[server], photo, { concurrency, seconds }))
    }
    const [service, door] = [rates.service.at(-1)?.toFixed(2), rates.door.at(-1)?.toFixed(2)]
    say(`${name}, round ${round + 1} of ${rounds}: service ${service}/s, door ${door}/s`)
  }
  const [service, door] = [median(rates.service), median(rates.door)]
  const detail = `door ${door.toFixed(2)}/s, service ${service.toFixed(2)}/s`
  return { name: `door ÷ service, u2netp, ${name}`, ratio: door / service, target: { atLeast: 0.9 }, detail }
}

const throughDoor =
  ({ origin, apiKey }: { readonly origin: string; readonly apiKey: string }): CutOut =>
  async ({ bytes, contentType }: Photo) => {
    const body = new FormData()
    body.append('image_file', new Blob([new Uint8Array(bytes)], { type: contentType }), 'photo')
    body.append('size', 'full')
    const response = await fetch(`${origin}/v1.0/removebg`, { method: 'POST', headers: { 'X-Api-Key': apiKey }, body })
    if (!response.ok) throw new Error(`the door answered ${response.status}: ${await response.text()}`)
    return new Uint8Array(await response.arrayBuffer())
  }
