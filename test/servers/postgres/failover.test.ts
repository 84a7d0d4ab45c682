// A primary with a synchronous standby under the load of a whole service. The primary is killed or switched over, the
// standby promoted and the name moved, as an operator such as CloudNativePG does. `FAILOVER_ROUNDS` is the number of
// kills; default 3.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'
import { type LoadedService, loadService } from './loaded-service.ts'
import { type Replicated, startReplicated } from './replicated.ts'

const rounds = Number(process.env.FAILOVER_ROUNDS ?? 3)
const timeout = 240_000 + rounds * 90_000 // a bound against hanging

let pair: Replicated
const stack = useStack({
  own: ['postgres'],
  startPostgres: async (dir) => {
    pair = await startReplicated(dir)
    return pair
  },
  processes: [],
})
let service: LoadedService

beforeAll(async () => {
  await pair.addStandby()
  service = await loadService(stack)
})
afterAll(() => service?.close())

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** Promotes the standby and reports the time since `begun` until the service accepts again. */
async function promoteAndReport(what: string, begun: number): Promise<void> {
  await pair.promote()
  const moved = performance.now()
  await service.untilAccepted('the service accepts again')
  const ended = performance.now()
  process.stdout.write(
    `${what}: accepted again after ${seconds(ended - begun)} s, ${seconds(ended - moved)} s after the name moved\n`,
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

describe('a PostgreSQL with a synchronous standby', () => {
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
    pair.name.move(pair.primary.port, { keep: true })
    await service.untilAccepted('the service has left the standby')
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
