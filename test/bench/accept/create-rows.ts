// Creations per second, relative to the same SQL and store read without the service, and the statements per creation.
import { sql } from 'kysely'
import { median } from '../median.ts'
import type { Row } from '../row.ts'
import { measureBareCreate, measurePgbench, type Recorded } from './bare.ts'
import { type Answers, buildRequest, generateLoad, rateOf } from './load.ts'
import { type AcceptOptions, connections, warmupSeconds } from './options.ts'
import type { Caller, World } from './world.ts'

export const createRequests = (callers: readonly Caller[]): string[] =>
  callers.map(({ apiKey, objectKey }) =>
    buildRequest({ method: 'POST', path: '/tasks', apiKey, body: { imageUrl: objectKey } }),
  )

type CreateOptions = AcceptOptions & { readonly name: string; readonly callers: readonly Caller[] }

export async function createRows(
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
    if (tps === undefined) say('no pgbench on this machine: its row is omitted')
    else pgbench.push(tps)
    const rates = [`service ${service.at(-1)?.perSecond.toFixed(0)}`, `bare ${bare.at(-1)?.toFixed(0)}`]
    say(
      `POST, ${name}, round ${round + 1} of ${rounds}, a second: ${rates.join(', ')}, ` +
        `pgbench ${tps?.toFixed(0) ?? '–'}`,
    )
  }
  const perSecond = median(service.map((answers) => answers.perSecond))
  const bareRate = median(bare)
  const p99Ms = median(service.map((answers) => answers.p99Ms))
  const detail = `${perSecond.toFixed(0)}/s (p99 ${p99Ms.toFixed(0)} ms), bare ${bareRate.toFixed(0)}/s`
  const rows: Row[] = [
    {
      name: `POST, ${name} ÷ bare loop of the same store read and SQL`,
      ratio: perSecond / bareRate,
      target: { atLeast: 0.6 },
      detail,
    },
    {
      name: `statements per accepted task, ${name}`,
      ratio: statements,
      target: { atMost: 4 },
      detail: 'pg_stat_statements, without BEGIN and COMMIT',
    },
  ]
  if (pgbench.length > 0) {
    const tps = median(pgbench)
    const beside = `${perSecond.toFixed(0)}/s, pgbench ${tps.toFixed(0)}/s`
    rows.push({ name: `POST, ${name} ÷ pgbench of the same SQL`, ratio: perSecond / tps, detail: beside })
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
