// The limit of verification mails over all addresses: further ones wait, and block no other mails.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { tokensTo } from '../support/app/sign-in/inbox.ts'
import { until } from '../support/until.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', VERIFICATION_MAILS_PER_MINUTE: '3' })

const open = (path: string, body: object) => createAppClient(world.api.url).call('POST', `/auth${path}`, { body })

const count = async (template: string): Promise<number> => {
  const rows = world.db.selectFrom('mail').select('id').where('template', '=', template)
  return (await rows.execute()).length
}
/** Waiting requests. */
const delayed = async (): Promise<number> => {
  const rows = world.db.selectFrom('account_request').select('id').where('due_at', '>', sql<Date>`now()`)
  return (await rows.execute()).length
}
/** Moves the mails back by this many seconds. */
async function letPass(seconds: number): Promise<void> {
  await sql`update mail_room set spent_until = spent_until - ${seconds} * interval '1 second'`.execute(world.db)
  await sql`update account_request set due_at = now()`.execute(world.db)
}

it('verification mails over the limit of a minute are sent later, and a reset does not wait for them', async () => {
  const emails = Array.from({ length: 8 }, newEmail)
  for (const email of emails) {
    const { data } = await open('/register', { email, password: newPassword() })
    expect(data).toEqual({ status: 'verification_sent' })
  }
  await until('the others wait', async () => (await delayed()) === 5)
  expect(await count('verify-email')).toBe(3)
  const known = await world.db.selectFrom('app_user').select('email').executeTakeFirstOrThrow()
  await open('/password/forgot', { email: known.email })
  await tokensTo(world, known.email, { template: 'reset-password' })
  expect(await count('verify-email')).toBe(3)

  await letPass(60)
  await until('the next share is sent', async () => (await count('verify-email')) === 6)
  await until('the rest waits', async () => (await delayed()) === 2)
  await letPass(60)
  for (const email of emails) await tokensTo(world, email, { template: 'verify-email' })
  expect(await count('verify-email')).toBe(8)
})
