// A primary with a synchronous standby under the load of a whole service, which reaches it by its name or through
// PgBouncer in transaction mode with the settings of docs/operations/pooler.md. The primary is killed or switched over,
// the standby promoted and the name moved, as an operator such as CloudNativePG does. `FAILOVER_ROUNDS` is the number
// of kills; default 3.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isPgbouncerMissing, type Pooler } from '../../controller/pgbouncer.ts'
import type { Env, ProcessName } from '../../support/processes.ts'
import { useStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'
import { type LoadedService, loadService } from './loaded-service.ts'
import { startPoolerOfPage } from './pooler-page.ts'
import { type Replicated, startReplicated } from './replicated.ts'

const rounds = Number(process.env.FAILOVER_ROUNDS ?? 3)
const timeout = 240_000 + rounds * 90_000 // a bound against hanging

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

type Route = { readonly route: string; readonly pooled: boolean; readonly names: readonly ProcessName[] }

const routes: readonly Route[] = [
  { route: 'by its name', pooled: false, names: ['api', 'worker', 'dispatcher'] },
  // Several processes share the sessions of each user.
  {
    route: 'through PgBouncer',
    pooled: true,
    names: ['api', 'api', 'worker', 'worker', 'dispatcher', 'dispatcher'],
  },
]
const reachable = routes.filter(({ pooled }) => !(pooled && isPgbouncerMissing('failover.test')))

describe.each(reachable)('a PostgreSQL with a synchronous standby, $route', ({ route, pooled, names }) => {
  let pair: Replicated
  let pooler: Pooler | undefined
  let service: LoadedService
  const stack = useStack({
    own: ['postgres'],
    startPostgres: async (dir) => {
      pair = await startReplicated(dir)
      return pair
    },
    processes: [],
  })

  beforeAll(async () => {
    await pair.addStandby()
    let calls = 0
    const origin = (): string => {
      const apis = stack.processes('api')
      return apis[calls++ % apis.length]?.url ?? ''
    }
    service = await loadService(stack, { env: pooled ? await throughPooler() : {}, names, origin })
  })
  afterAll(async () => {
    await service?.close()
    await pooler?.stop()
  })

  async function throughPooler(): Promise<Env> {
    // In turn, so each session that is left at a standby is used.
    pooler = await startPoolerOfPage(pair.url, { server_round_robin: '1' })
    const url = stack.env('api').DATABASE_URL ?? ''
    return { DATABASE_URL: pooler.through(url), DATABASE_POOLER: 'transaction', DATABASE_DIRECT_URL: url }
  }

  /** Promotes the standby and reports the time since `begun` until the service accepts again. */
  async function promoteAndReport(what: string, begun: number): Promise<void> {
    await pair.promote()
    const moved = performance.now()
    await service.untilAccepted('the service accepts again')
    const ended = performance.now()
    process.stdout.write(
      `${route}, ${what}: accepted again after ${seconds(ended - begun)} s, ` +
        `${seconds(ended - moved)} s after the name moved\n`,
    )
  }

  /** The former primary returns as an operator starts it: it serves reads, and no write. */
  async function expectFenced(): Promise<void> {
    await pair.standby.startFenced()
    await expect(pair.standby.query('create table written (id int)')).rejects.toMatchObject({ code: '25006' })
  }

  /** Sessions whose commit waits for the standby. */
  async function waitingCommits(): Promise<number> {
    const [row] = await pair.primary.query(
      `select count(*)::int as count from pg_stat_activity where wait_event = 'SyncRep'`,
    )
    return Number(row?.count)
  }

  /** Sessions of Matte's users. */
  async function sessionsAtStandby(): Promise<number> {
    const [row] = await pair.standby.query(
      `select count(*)::int as count from pg_stat_activity where backend_type = 'client backend' and usename <> 'matte'`,
    )
    return Number(row?.count)
  }

  it(`loses nothing accepted and does nothing twice, killed ${rounds} times under load`, { timeout }, async () => {
    for (let round = 1; round <= rounds; round++) {
      await service.untilMore(30)
      const begun = performance.now()
      await pair.primary.kill()
      await promoteAndReport(`kill ${round}`, begun)
      await expectFenced()
      await pair.addStandby()
    }
    await service.untilMore(10)
  })

  it('loses nothing in a planned switchover under load', { timeout }, async () => {
    const begun = performance.now()
    await pair.primary.stop()
    await promoteAndReport('switchover', begun)
    await expectFenced()
    await pair.addStandby()
    await service.untilMore(10)
  })

  it('leaves a server that accepts no writes, although its connections stay open', { timeout }, async () => {
    // A name service that still holds the former primary's address: every connection ends up at the standby.
    pair.name.move(pair.standby.port)
    const before = service.refused()
    await until('the standby has rejected writes', () => service.refused() > before + 10)
    expect(await sessionsAtStandby()).toBeGreaterThan(0)
    const moved = performance.now()
    pair.name.move(pair.primary.port, { keep: true })
    await service.untilAccepted('the service accepts again')
    const accepted = performance.now()
    await until('no session is left at the standby', async () => (await sessionsAtStandby()) === 0)
    const left = performance.now()
    process.stdout.write(
      `${route}, stale name: accepted again after ${seconds(accepted - moved)} s, ` +
        `the last session at the standby ended after ${seconds(left - moved)} s\n`,
    )
    await service.untilMore(30)
  })

  it('accepts nothing that only one server has, however long the standby is away', { timeout }, async () => {
    await pair.standby.kill()
    const since = performance.now()
    await until('commits wait for the standby', waitingCommits)
    // The driver answers for the server after 35 s. The statement limit of 30 s has passed by then, and must not have
    // ended the wait of a commit, because PostgreSQL would report success.
    const errors = () => service.others.get('500 SYSTEM_INTERNAL_ERROR with Retry-After') ?? 0
    const before = errors()
    await until('a caller got an error', () => errors() > before)
    expect(service.accepted.filter(({ sentAt }) => sentAt > since)).toEqual([])
    await pair.standby.startUnfenced()
    await service.untilAccepted('the service accepts again')
    await service.untilMore(10)
  })

  it('agrees with the log of the clients, task by task', { timeout }, async () => {
    await service.end()
    expect(service.accepted.length).toBeGreaterThan(rounds * 40)
    await service.expectAgreement()
  })
})
