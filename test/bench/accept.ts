// `make bench ARGS=accept`: what the API adds to the database's and the store's own work, and what it does with more
// than it can take. Bare loop, bare route and service take turns, so that a change of the machine's speed meets all.
import { claimNextTask } from '@matte/core/task/run/claim-task'
import { finishTask } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { measureBareCreate, measurePgbench, type Recorded, recordStatements, startBareRead } from './accept/bare.ts'
import { type Answers, buildRequest, generateLoad, isPinned, type Measured, rateOf } from './accept/load.ts'
import { type Caller, createWorld, plans, type World } from './accept/world.ts'
import { median } from './median.ts'
import type { Row } from './row.ts'

export type AcceptOptions = {
  readonly rounds: number
  readonly seconds: number
  /** The folder, and so the disk, that the servers keep their files in. */
  readonly dir: string
  readonly say: (line: string) => void
}

const connections = 32
const warmupSeconds = 1

export async function measureAccept(options: AcceptOptions): Promise<Row[]> {
  const { say } = options
  if (!isPinned) say('no taskset on this machine: the generator is not pinned to a core')
  const world = await createWorld(options.dir)
  try {
    const recorded = await recordStatements(world, world.callers)
    const reads = await readRows(world, options)
    const [all, hot] = [
      await createRows(world, recorded, { ...options, name: '100 workspaces', callers: world.callers }),
      await createRows(world, recorded.slice(0, 1), {
        ...options,
        name: 'one hot one',
        callers: world.callers.slice(0, 1),
      }),
    ]
    const overload = await overloadRow(world, options, all.perSecond)
    const paging = await pageRow(world)
    return [...all.rows, ...hot.rows, ...reads, paging, ...overload]
  } finally {
    await world.remove()
  }
}

const atLeast = (name: string, ratio: number, target: number, detail: string): Row => ({
  name,
  ratio,
  target: `≥ ${target}`,
  met: ratio >= target,
  detail,
})
const atMost = (name: string, ratio: number, target: number, detail: string): Row => ({
  name,
  ratio,
  target: `≤ ${target}`,
  met: ratio <= target,
  detail,
})

const createRequests = (callers: readonly Caller[]): string[] =>
  callers.map(({ apiKey, objectKey }) =>
    buildRequest({ method: 'POST', path: '/tasks', apiKey, body: { imageUrl: objectKey } }),
  )

type CreateOptions = AcceptOptions & { readonly name: string; readonly callers: readonly Caller[] }

async function createRows(
  world: World,
  recorded: readonly Recorded[],
  { rounds, seconds, say, name, callers }: CreateOptions,
): Promise<{ rows: Row[]; perSecond: number }> {
  const timing = { workers: connections, seconds, warmupSeconds }
  const service: Answers[] = []
  const bare: number[] = []
  const pgbench: number[] = []
  let statements = 0
  for (let round = 0; round < rounds; round++) {
    bare.push(await measureBareCreate(world, recorded, timing))
    const load = { port: world.port, requests: createRequests(callers), connections, seconds, warmupSeconds }
    const counted = await countStatements(world, async () => {
      service.push(rateOf(await generateLoad(world.dir, load), 201))
    })
    statements = counted
    const tps = await measurePgbench(world, recorded, timing)
    if (tps === undefined) say('no pgbench on this machine: its row is left out')
    else pgbench.push(tps)
    const figures = [`service ${service.at(-1)?.perSecond.toFixed(0)}`, `bare ${bare.at(-1)?.toFixed(0)}`]
    say(
      `POST, ${name}, round ${round + 1} of ${rounds}, a second: ${figures.join(', ')}, pgbench ${tps?.toFixed(0) ?? '–'}`,
    )
  }
  const perSecond = median(service.map((answers) => answers.perSecond))
  const bareRate = median(bare)
  const p99Ms = median(service.map((answers) => answers.p99Ms))
  const detail = `${perSecond.toFixed(0)}/s (p99 ${p99Ms.toFixed(0)} ms), bare ${bareRate.toFixed(0)}/s`
  const rows = [
    atLeast(`POST, ${name} ÷ bare loop of the same store read and SQL`, perSecond / bareRate, 0.6, detail),
    atMost(`statements per accepted task, ${name}`, statements, 4, 'pg_stat_statements, BEGIN and COMMIT left out'),
  ]
  if (pgbench.length > 0) {
    const tps = median(pgbench)
    const beside = `${perSecond.toFixed(0)}/s, pgbench ${tps.toFixed(0)}/s`
    rows.push({
      name: `POST, ${name} ÷ pgbench of the same SQL`,
      ratio: perSecond / tps,
      target: '–',
      met: true,
      detail: beside,
    })
  }
  return { rows, perSecond }
}

/** Statements of the API's connections per task made while `act` ran. */
async function countStatements({ db }: World, act: () => Promise<void>): Promise<number> {
  const countTasks = async (): Promise<number> => {
    const { rows } = await sql<{ count: number }>`select sum(created)::int as count from usage_day`.execute(db)
    return rows[0]?.count ?? 0
  }
  const before = await countTasks()
  await sql`select pg_stat_statements_reset()`.execute(db)
  await act()
  const { rows } = await sql<{ calls: number }>`
    select sum(calls)::float8 as calls from pg_stat_statements
     where toplevel and query !~* '^\\s*(begin|commit|select sum\\(created|select pg_stat)'`.execute(db)
  return (rows[0]?.calls ?? 0) / ((await countTasks()) - before)
}

async function readRows(world: World, { rounds, seconds, say }: AcceptOptions): Promise<Row[]> {
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
      const figures = Object.entries(rates).map(([name, all]) => `${name} ${all.at(-1)?.toFixed(0)}`)
      say(`GET, round ${round + 1} of ${rounds}, a second: ${figures.join(', ')}`)
    }
  } finally {
    await bareRoute.stop()
  }
  const bare = median(rates.bare)
  const row = (name: string, all: readonly number[], target: number): Row =>
    atLeast(name, median(all) / bare, target, `${median(all).toFixed(0)}/s, bare ${bare.toFixed(0)}/s`)
  return [
    row('GET of a queued task ÷ Fastify with one select', rates.queued, 0.5),
    row('GET of a succeeded task ÷ Fastify with one select', rates.succeeded, 0.25),
  ]
}

/** Reads of ten tasks for each of a few workspaces, one half queued and one half ended by the worker's own functions. */
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

/** As a worker ends them; the model's name keeps the claim to these tasks. */
async function finishSome(db: World['db'], workspaceId: string, ids: readonly string[]): Promise<void> {
  const model = `bench-${workspaceId.slice(0, 8)}`
  await sql`update task set model_version = ${model} where id = any(${[...ids]}::uuid[])`.execute(db)
  await sql`update setting set value = 'false' where name = 'dispatchPaused'`.execute(db)
  for (let i = 0; i < ids.length; i++) {
    const claimed = await claimNextTask(db, { models: [model], plans, claimMs: 60_000 })
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

/** A list of 100,000 tasks: its first page, and its page 5,000 by the cursor of the one before. */
async function pageRow({ port, callers, db }: World): Promise<Row> {
  const caller = callers[1]
  if (caller === undefined) throw new Error('there is no second workspace')
  await sql`
    insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version, credit_cost,
                      status, completed_at, created_at)
    select ${caller.workspaceId}::uuid, u.id, u.object_key, '"e"', 1, 'service-v2', 1, 'canceled', now(),
           now() - n * interval '1 second'
      from upload u, generate_series(1, 101000) n where u.object_key = ${caller.objectKey}`.execute(db)
  await sql`analyze task`.execute(db)
  const read = async (query: string): Promise<{ nextCursor: string | null }> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/open/developer/tasks?pageSize=20&${query}`, {
      headers: { 'x-api-key': caller.apiKey },
    })
    return ((await answer.json()) as { data: { nextCursor: string | null } }).data
  }
  const { nextCursor } = await read('page=4999')
  const first: number[] = []
  const deep: number[] = []
  for (let i = 0; i < 60; i++) {
    for (const [times, query] of [
      [first, 'page=1'],
      [deep, `cursor=${nextCursor}`],
    ] as const) {
      const begun = performance.now()
      await read(query)
      times.push(performance.now() - begun)
    }
  }
  const [firstMs, deepMs] = [median(first), median(deep)]
  return atMost(
    'page 5,000 by cursor ÷ page 1',
    deepMs / firstMs,
    2,
    `${deepMs.toFixed(1)} ms, ${firstMs.toFixed(1)} ms`,
  )
}

/** Constant arrival at the capacity and at twice of it, in turn. */
async function overloadRow(world: World, { rounds, seconds, say }: AcceptOptions, perSecond: number): Promise<Row[]> {
  const requests = createRequests(world.callers)
  const at = async (share: number): Promise<Measured> =>
    generateLoad(world.dir, {
      port: world.port,
      requests,
      connections: 2_000,
      seconds,
      warmupSeconds: 2,
      rate: Math.round(perSecond * share),
    })
  const peak: number[] = []
  const good: number[] = []
  const refused: number[] = []
  const p99s: number[] = []
  const retryAfters = new Set<string>()
  const memoryBefore = world.api.peakMemoryBytes()
  for (let round = 0; round < rounds; round++) {
    const load = { port: world.port, requests, connections, seconds, warmupSeconds }
    peak.push(rateOf(await generateLoad(world.dir, load), 201).perSecond)
    const twice = await at(2)
    const others = Object.keys(twice.answers).filter((status) => status !== '201' && status !== '429')
    if (others.length > 0) throw new Error(`overload was answered ${JSON.stringify(twice.answers)}`)
    good.push(twice.answers['201']?.perSecond ?? 0)
    refused.push(twice.answers['429']?.perSecond ?? 0)
    p99s.push(twice.answers['201']?.p99Ms ?? 0)
    for (const value of twice.retryAfters) retryAfters.add(value)
    say(
      `overload, round ${round + 1} of ${rounds}, a second: peak ${peak.at(-1)?.toFixed(0)}, ` +
        `at twice of it ${good.at(-1)?.toFixed(0)} accepted, ${refused.at(-1)?.toFixed(0)} refused, missed ${twice.missed}`,
    )
  }
  const mb = (bytes: number): string => (bytes / 1_048_576).toFixed(0)
  const detail =
    `${median(good).toFixed(0)}/s accepted (p99 ${median(p99s).toFixed(0)} ms), ${median(refused).toFixed(0)}/s refused, ` +
    `Retry-After ${[...retryAfters].join(' ')}; peak ${median(peak).toFixed(0)}/s; ` +
    `most memory before ${mb(memoryBefore)}, after ${mb(world.api.peakMemoryBytes())} MB`
  return [atLeast('accepted at twice the capacity ÷ peak', median(good) / median(peak), 0.95, detail)]
}
