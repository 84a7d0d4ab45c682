// A flood of logins from one network fills the queue of passwords.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson } from '../support/app/people.ts'
import { newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import type { ApiError } from '../support/client.ts'
import { until } from '../support/until.ts'

const waitingMax = 8
const world = useApi({
  TRUSTED_PROXY_HOPS: '1',
  PASSWORD_HASHES_MAX: '1',
  PASSWORD_HASHES_WAITING_MAX: String(waitingMax),
})

type Ended = { readonly name: string; readonly status: number; readonly limit: unknown; readonly retryAfter: number }

/** Logins by name, and their completion order. */
function logins() {
  const ended: Ended[] = []
  const send = (name: string, address: string, body: { readonly email: string; readonly password: string }) =>
    createAppClient(world.api.url)
      .call('POST', '/auth/login', { body, headers: { 'x-forwarded-for': address } })
      .then(
        ({ status }) => ended.push({ name, status, limit: undefined, retryAfter: 0 }),
        ({ status, details, headers }: ApiError) =>
          ended.push({ name, status, limit: details.limit, retryAfter: Number(headers.get('retry-after')) }),
      )
  return { ended, send, refused: () => ended.filter(({ status }) => status === 429) }
}

/** Blocks the running login, and all that wait behind it, while `act` runs. */
async function whileHeld(begin: () => void, act: () => Promise<void>): Promise<void> {
  await world.db.transaction().execute(async (tx) => {
    await sql`lock table login_failure in access exclusive mode`.execute(tx)
    begin()
    await until('the first login waits for the table', async () => {
      const { rows } = await sql`
        select from pg_locks where not granted and relation = 'login_failure'::regclass`.execute(world.db)
      return rows.length > 0
    })
    await act()
  })
}

const refusedMin = 20

describe('a flood of logins', () => {
  it.each([
    ['a /24 of IPv4', (i: number) => `203.0.113.${i}`],
    ['a /24 of IPv4 mapped into IPv6', (i: number) => `::ffff:203.0.113.${i}`],
    ['a /48 of IPv6', (i: number) => `2001:db8:1:${i}::1`],
    ['a proxy that writes ports', (i: number) => `203.0.113.9:${1_000 + i}`],
  ])(
    'from %s is shed, and a login from another network takes the place of one of its passwords',
    async (_what, addressOf) => {
      const { email, ...person } = await givenPerson(world.db, world.api)
      await givePassword(world.db, person)
      const { ended, send, refused } = logins()
      const guess = (i: number) => send('flood', addressOf(i), { email: newEmail(), password: newPassword() })
      const sent: Promise<unknown>[] = []
      const begin = (): void => void sent.push(guess(0))
      await whileHeld(begin, async () => {
        for (let i = 1; i <= waitingMax + refusedMin; i += 1) sent.push(guess(i))
        await until('the queue is full', () => refused().length >= refusedMin)
        sent.push(send('person', '198.51.100.7', { email, password }))
        await until('the person waits, or was refused', () => refused().length > refusedMin)
      })
      await Promise.all(sent)
      const judged = ended.filter(({ status }) => status !== 429)
      // The running one, one of the waiting ones, and perhaps the next, whose response may arrive early.
      expect(judged.findIndex(({ name }) => name === 'person')).toBeLessThanOrEqual(3)
      expect(judged.find(({ name }) => name === 'person')?.status).toBe(200)
      expect(judged).toHaveLength(1 + waitingMax)
      expect(new Set(refused().map(({ name, limit }) => `${name} ${limit}`))).toEqual(new Set(['flood capacity']))
      for (const { retryAfter } of refused()) expect(retryAfter).toBeGreaterThanOrEqual(1)
      const metrics = await (await fetch(`${world.api.healthUrl}/metrics`)).text()
      expect(metrics).toMatch(/^matte_password_hashes_refused_total\{.*\} [1-9]/m)
    },
  )
})
