// `welcome` as a webhook: a new account has no endpoint, so the event waits for the first subscribed one (D90).
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useWebhooks } from '../api/webhook-parts.ts'
import { type Account, givenAccount } from '../support/app/sign-in/accounts.ts'
import { givenTeam } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

const world = useWebhooks({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address

const publicTarget = 'https://93.184.216.34/hook'

type Endpoint = { readonly id: string; readonly status: string }
type Holder = Pick<Account, 'client'>

const create = async ({ client }: Holder, body: Record<string, unknown> = {}) =>
  (await client.call<Endpoint>('POST', '/developer/webhooks', { body: { targetUrl: publicTarget, ...body } })).data
const patch = ({ client }: Holder, id: string, body: Record<string, unknown>) =>
  client.call<Endpoint>('PATCH', `/developer/webhooks/${id}`, { body })
/** Deliveries of `welcome` to these endpoints together. */
async function welcomes({ client }: Holder, ...ids: string[]): Promise<number> {
  const totals = ids.map(async (id) => {
    const path = `/developer/webhooks/${id}/deliveries?event=welcome`
    return (await client.call<{ total: number }>('GET', path)).data.total
  })
  return (await Promise.all(totals)).reduce((sum, total) => sum + total, 0)
}

describe('welcome', () => {
  it('arrives at the first endpoint of a new account that subscribes to it, and at no second one', async () => {
    const account = await givenAccount(world)
    const receiver = await world.receiver()
    await world.dispatcher()
    await create(account, { eventTypes: ['task.failed'] })
    const targetUrl = receiver.url
    // The API must first read the setting that allows local receivers.
    const first = await until('the endpoint is made', () => create(account, { targetUrl }).catch(() => undefined))
    const second = await create(account)
    await until('it arrives', () => receiver.received.length > 0)
    expect(receiver.received.map(({ body }) => JSON.parse(body))).toEqual([
      { event: 'welcome', message: 'Welcome to Matte: your account is ready.' },
    ])
    expect([await welcomes(account, first.id), await welcomes(account, second.id)]).toEqual([1, 0])
  })

  it('goes to one of several endpoints created concurrently', async () => {
    const account = await givenAccount(world)
    const made = await Promise.all(Array.from({ length: 6 }, () => create(account)))
    expect(await welcomes(account, ...made.map(({ id }) => id))).toBe(1)
  })

  it('goes to an endpoint that subscribes later, by its events or by being enabled', async () => {
    const account = await givenAccount(world)
    const { id } = await create(account, { eventTypes: ['task.failed'] })
    await patch(account, id, { status: 'disabled', eventTypes: ['welcome'] })
    expect(await welcomes(account, id)).toBe(0)
    await patch(account, id, { status: 'enabled' })
    await patch(account, id, { eventTypes: [] })
    expect(await welcomes(account, id)).toBe(1)
    const another = await givenAccount(world)
    const listening = await create(another, { eventTypes: ['task.failed'] })
    await patch(another, listening.id, { eventTypes: ['welcome'] })
    expect(await welcomes(another, listening.id)).toBe(1)
  })

  it('is sent within seven days of the account only', async () => {
    const made = async (age: string) => {
      const account = await givenAccount(world)
      await sql`
        update workspace set created_at = now() - ${age}::interval where personal_of = ${account.userId}`.execute(
        world.db,
      )
      return welcomes(account, (await create(account)).id)
    }
    expect([await made('6 days 23 hours'), await made('7 days 1 second')]).toEqual([1, 0])
  })

  it('is not sent for a team', async () => {
    const { owner } = await givenTeam(world)
    expect(await welcomes(owner, (await create(owner)).id)).toBe(0)
  })
})
