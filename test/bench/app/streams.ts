// `make bench ARGS=streams`: API memory of a thousand open streams, and the latency of an event.
import { issuerAt, openMany } from '../../support/app/many-streams.ts'
import { givenPerson } from '../../support/app/people.ts'
import { until } from '../../support/until.ts'
import { createWorld, type World } from '../accept/world.ts'
import type { Row } from '../row.ts'

const count = 1_000
const rounds = 20

type Options = { readonly dir: string; readonly say: (line: string) => void }

export async function measureStreams({ dir, say }: Options): Promise<Row[]> {
  const world = await createWorld(dir)
  try {
    const callers = world.callers.slice(0, 4)
    const issuer = issuerAt(world.api.url, world.env.MASTER_KEYS ?? '')
    const tokens: string[] = []
    for (const { workspaceId } of callers) {
      const member = { workspaceId, role: 'member' } as const
      tokens.push((await givenPerson(world.db, issuer, { member })).accessToken)
    }
    // Warm-up.
    for (const { close } of await openMany(issuer.url, tokens, 5)) close()
    await until('they are gone', async () => (await openOf(world)) === 0)
    const before = await memoryOf(world)
    say(`opening ${count} streams`)
    const streams = await openMany(issuer.url, tokens, count / 4)
    const opened = await memoryOf(world)
    const delaysMs: number[] = []
    for (let round = 1; round <= rounds; round++) {
      const begun = performance.now()
      for (const caller of callers) await create(world, caller)
      await until('each has the event', () => streams.every(({ seen }) => seen.size === round), { everyMs: 5 })
      delaysMs.push(performance.now() - begun)
    }
    const after = await memoryOf(world)
    for (const { close } of streams) close()
    const median = delaysMs.sort((a, b) => a - b)[rounds / 2] ?? Number.NaN
    const kib = (Math.max(opened, after) - before) / count / 1_024
    const mb = (bytes: number) => (bytes / 1e6).toFixed(0)
    const detail =
      `${mb(before)} MB before, ${mb(opened)} with ${count} open, ${mb(after)} after ${rounds} events to each; ` +
      `all have an event ${median.toFixed(0)} ms after its creation began (median)`
    return [{ name: 'KiB of memory for an open stream', ratio: kib, target: { atMost: 100 }, detail }]
  } finally {
    await world.remove()
  }
}

async function create({ api }: World, { apiKey, objectKey }: World['callers'][number]): Promise<void> {
  const answer = await fetch(`${api.url}/api/v1/open/developer/tasks`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ imageUrl: objectKey }),
  })
  if (answer.status !== 201) throw new Error(`a creation was answered ${answer.status}: ${await answer.text()}`)
  await answer.arrayBuffer()
}

const metric = async ({ api }: World, name: string): Promise<number> => {
  const text = await (await fetch(`${api.healthUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(name))
  return Number(line?.split(' ').at(-1))
}
const memoryOf = (world: World) => metric(world, 'process_resident_memory_bytes')
const openOf = (world: World) => metric(world, 'matte_task_streams_open')
