// A primary with a synchronous standby under the load of a whole service. The primary is killed or switched over, the
// standby promoted and the name moved, as an operator such as CloudNativePG does. `FAILOVER_ROUNDS` is the number of
// kills; default 3.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fake, startFake } from '../../support/fake-triton.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { type Stack, useStack } from '../../support/stack.ts'
import { type Load, plans, startLoad } from './load.ts'
import { type Replicated, startReplicated } from './replicated.ts'

const rounds = Number(process.env.FAILOVER_ROUNDS ?? 3)
const timeout = 120_000 + rounds * 90_000 // a bound against hanging

let pair: Replicated
const stack: Stack = useStack({
  own: ['postgres'],
  startPostgres: async (dir) => {
    pair = await startReplicated(dir)
    return pair
  },
  processes: [],
})
let fake: Fake
let receiver: Receiver
let load: Load

beforeAll(async () => {
  await pair.addStandby()
  fake = await startFake({ models: [{ name: 'u2netp', instances: 8 }], behaviour: { serviceMs: 5 } })
  receiver = await startReceiver()
  const models = [{ name: 'service-v2', tritonModel: 'u2netp', addresses: [fake.address], default: true }]
  const env = { PLANS: plans, MODELS_STATIC: JSON.stringify(models) }
  await Promise.all((['api', 'worker', 'dispatcher'] as const).map((name) => stack.start(name, env)))
  load = await startLoad({ db: stack.db, origin: () => stack.process('api').url, receiver })
})
afterAll(async () => {
  await load?.end()
  await receiver?.close()
  await fake?.kill()
})

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** Promotes the standby and reports the time since `begun` until the service accepts again. */
async function promoteAndReport(what: string, begun: number): Promise<void> {
  await pair.promote()
  const moved = performance.now()
  await load.untilAccepted('the service accepts again')
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

describe('a PostgreSQL with a synchronous standby', () => {
  it(`loses nothing accepted and does nothing twice, killed ${rounds} times under load`, { timeout }, async () => {
    for (let round = 1; round <= rounds; round++) {
      await load.untilMore(30)
      const begun = performance.now()
      await pair.primary.kill()
      await promoteAndReport(`kill ${round}`, begun)
      await expectFenced()
      await pair.addStandby()
    }
    await load.untilMore(10)
  })

  it('loses nothing in a planned switchover under load', { timeout }, async () => {
    const begun = performance.now()
    await pair.primary.stop()
    await promoteAndReport('switchover', begun)
    await expectFenced()
    await pair.addStandby()
    await load.untilMore(10)
  })

  it('agrees with the log of the clients, task by task', { timeout }, async () => {
    await load.end()
    process.stdout.write(`${load.accepted.length} accepted; also ${JSON.stringify(Object.fromEntries(load.others))}\n`)
    expect(load.accepted.length).toBeGreaterThan(rounds * 40)
    await load.expectAgreement()
  })
})
