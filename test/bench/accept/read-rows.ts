// Reads of a task per second, relative to a bare route with one select.
import { claimNextTasks } from '@matte/core/task/run/claim-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { median } from '../median.ts'
import type { Row } from '../row.ts'
import { startBareRead } from './bare.ts'
import { buildRequest, generateLoad, rateOf } from './load.ts'
import { type AcceptOptions, connections, warmupSeconds } from './options.ts'
import { plans, type World } from './world.ts'

export async function readRows(world: World, { rounds, seconds, say }: AcceptOptions): Promise<Row[]> {
  const { queued, succeeded } = await givenTasks(world)
  const bareRoute = await startBareRead(world)
  const rates = { bare: [] as number[], queued: [] as number[], succeeded: [] as number[] }
  const measure = async (port: number, requests: readonly string[]): Promise<number> =>
    rateOf(await generateLoad(world.dir, { port, requests, connections, seconds, warmupSeconds }), 200).perSecond
  try {
    for (let round = 0; round < rounds; round++) {
      rates.bare.push(await measure(bareRoute.port, queued))
      rates.queued.push(await measure(world.port, queued))
      rates.succeeded.push(await measure(world.port, succeeded))
      const line = Object.entries(rates).map(([name, all]) => `${name} ${all.at(-1)?.toFixed(0)}`)
      say(`GET, round ${round + 1} of ${rounds}, a second: ${line.join(', ')}`)
    }
  } finally {
    await bareRoute.stop()
  }
  const bare = median(rates.bare)
  const row = (name: string, all: readonly number[], atLeast: number): Row => ({
    name,
    ratio: median(all) / bare,
    target: { atLeast },
    detail: `${median(all).toFixed(0)}/s, bare ${bare.toFixed(0)}/s`,
  })
  return [
    row('GET of a queued task ÷ Fastify with one select', rates.queued, 0.5),
    row('GET of a succeeded task ÷ Fastify with one select', rates.succeeded, 0.25),
  ]
}

/** Reads of ten tasks in each of a few workspaces, half of them queued and half ended by the worker's functions. */
async function givenTasks({ port, callers, db }: World): Promise<{ queued: string[]; succeeded: string[] }> {
  const queued: string[] = []
  const succeeded: string[] = []
  for (const { apiKey, objectKey, workspaceId } of callers.slice(0, 20)) {
    const ids: string[] = []
    for (let i = 0; i < 10; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/open/developer/tasks`, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ imageUrl: objectKey }),
      })
      ids.push(((await answer.json()) as { data: { id: string } }).data.id)
    }
    await finishSome(db, workspaceId, ids.slice(5))
    const read = (id: string): string => buildRequest({ method: 'GET', path: `/tasks/${id}`, apiKey })
    queued.push(...ids.slice(0, 5).map(read))
    succeeded.push(...ids.slice(5).map(read))
  }
  return { queued, succeeded }
}

/** Ends tasks like a worker; the model's name limits the claims to these tasks. */
async function finishSome(db: World['db'], workspaceId: string, ids: readonly string[]): Promise<void> {
  const model = `bench-${workspaceId.slice(0, 8)}`
  await sql`update task set model_version = ${model} where id = any(${[...ids]}::uuid[])`.execute(db)
  await sql`update setting set value = 'false' where name = 'dispatchPaused'`.execute(db)
  for (let i = 0; i < ids.length; i++) {
    const { tasks } = await claimNextTasks(db, { models: [model], limit: 1, plans, claimMs: 60_000 })
    const [claimed] = tasks
    if (claimed === undefined) throw new Error('a task of the benchmark could not be claimed')
    await finishTask(db, claimed, {
      status: 'succeeded',
      resultKey: `results/${claimed.id}/${claimed.run}-${claimed.claim}.png`,
      resultFormat: 'png',
      resultSizeBytes: 1_000,
      width: 640,
      height: 480,
      foreground: { top: 10, left: 20, width: 300, height: 200 },
    })
  }
  await sql`update setting set value = 'true' where name = 'dispatchPaused'`.execute(db)
}
