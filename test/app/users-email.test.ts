// Changes of the email address: requested with the password, effective once verified.
import { randomBytes } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { readMails } from '../support/app/mails.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address

async function person(): Promise<Person> {
  const someone = await givenPerson(world.db, world.api)
  await givePassword(world.db, someone)
  return someone
}

const newAddress = () => `new-${randomBytes(6).toString('hex')}@example.com`
const ask = async ({ client }: Person, newEmail: string, more: object = {}) =>
  (await client.call('POST', '/auth/email/change', { body: { newEmail, password, ...more } })).data
const confirm = ({ client }: Person, token: string) => client.call('POST', '/auth/email/confirm', { body: { token } })
const addressOf = async ({ client }: Person) =>
  (await client.call<{ email: string }>('GET', '/users/profile')).data.email

/** Token of the last mail to the address. */
async function tokenFor(to: string): Promise<string> {
  const mails = await readMails(world.db, world.api.config.masterKeys, { to })
  return URL.parse(mails.at(-1)?.data.url ?? '')?.searchParams.get('token') ?? ''
}

const wrongToken = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/token' }] } }

describe('a new address', () => {
  it('takes effect when its link is followed; both addresses get a mail', async () => {
    const someone = await person()
    const newEmail = newAddress()
    expect(await ask(someone, newEmail)).toEqual({ status: 'confirmation_sent' })
    expect(await addressOf(someone)).toBe(someone.email)
    const mails = await readMails(world.db, world.api.config.masterKeys, { userId: someone.userId })
    mails.sort((one, two) => one.template.localeCompare(two.template))
    expect(mails).toMatchObject([
      { template: 'confirm-email', to: newEmail },
      { template: 'email-changing', to: someone.email, data: { newEmail } },
    ])
    expect(mails[0]?.data.url).toMatch(
      new RegExp(`^${world.api.url}/api/v1/app/pages/confirm-email\\?token=[\\w-]{43}$`),
    )
    expect((await confirm(someone, await tokenFor(newEmail))).data).toEqual({ email: newEmail })
    expect(await addressOf(someone)).toBe(newEmail)
    const logIn = (email: string) =>
      createAppClient(world.api.url).call('POST', '/auth/login', { body: { email, password } })
    await logIn(newEmail)
    await expect(logIn(someone.email)).rejects.toMatchObject({ status: 401 })
  })

  it('has a link that works once, for the requesting user, for a day', async () => {
    const someone = await person()
    const other = await person()
    const newEmail = newAddress()
    await ask(someone, newEmail)
    const token = await tokenFor(newEmail)
    await expect(confirm(other, token)).rejects.toMatchObject(wrongToken)
    await confirm(someone, token)
    await expect(confirm(someone, token)).rejects.toMatchObject(wrongToken)
    const late = newAddress()
    await ask(someone, late)
    await sql`update email_change set expires_at = expires_at - interval '24 hours'`.execute(world.db)
    await expect(confirm(someone, await tokenFor(late))).rejects.toMatchObject(wrongToken)
  })

  it('invalidates an earlier request', async () => {
    const someone = await person()
    const [first, second] = [newAddress(), newAddress()]
    await ask(someone, first)
    await ask(someone, second)
    await expect(confirm(someone, await tokenFor(first))).rejects.toMatchObject(wrongToken)
    await confirm(someone, await tokenFor(second))
  })

  it('requires the password, and the code if enabled', async () => {
    const someone = await person()
    const body = { newEmail: newAddress(), password: 'another password' }
    await expect(someone.client.call('POST', '/auth/email/change', { body })).rejects.toMatchObject({
      details: { issues: [{ path: '/body/password' }] },
    })
    const factor = await enableSecondFactor(world.db, someone.client)
    const wrong = { code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/code' }] } }
    await expect(ask(someone, newAddress())).rejects.toMatchObject(wrong)
    await expect(ask(someone, newAddress(), { code: await factor.wrongCode() })).rejects.toMatchObject(wrong)
    const code = await factor.nextCode()
    await ask(someone, newAddress(), { code })
    await expect(ask(someone, newAddress(), { code })).rejects.toMatchObject(wrong)
    const { length } = await readMails(world.db, world.api.config.masterKeys, { userId: someone.userId })
    expect(length).toBe(2)
  })

  it('must differ from the current one in more than case, and has five requests an hour', async () => {
    const someone = await person()
    await expect(ask(someone, someone.email.toUpperCase())).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    for (let count = 0; count < 5; count++) await ask(someone, newAddress())
    await expect(ask(someone, newAddress())).rejects.toMatchObject({
      status: 429,
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'emailChanges' },
    })
    await sql`update email_change set created_at = created_at - interval '1 hour'
               where user_id = ${someone.userId}`.execute(world.db)
    await ask(someone, newAddress())
  })
})

describe('an address with an account', () => {
  it('gets the usual response, and is rejected only with its link', async () => {
    const [someone, owner] = [await person(), await person()]
    const taken = await ask(someone, owner.email.toUpperCase())
    const free = await ask(await person(), newAddress())
    expect(taken).toEqual(free)
    await expect(confirm(someone, await tokenFor(owner.email.toUpperCase()))).rejects.toMatchObject({
      status: 409,
      code: 'CONFLICT',
    })
    expect(await addressOf(someone)).toBe(someone.email)
  })

  it('goes to one of several concurrent confirmations', async () => {
    const people = [await person(), await person(), await person()]
    const newEmail = newAddress()
    const tokens: string[] = []
    for (const someone of people) {
      await ask(someone, newEmail)
      tokens.push(await tokenFor(newEmail))
    }
    const tries = await Promise.allSettled(people.map((someone, index) => confirm(someone, tokens[index] ?? '')))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const each of tries) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'CONFLICT' })
    const held = world.db.selectFrom('app_user').select('id').where('email', '=', newEmail)
    expect(await held.execute()).toHaveLength(1)
  })

  it('that was never verified goes to the user who verifies it', async () => {
    const someone = await person()
    const newEmail = newAddress()
    const squatter = await world.db
      .insertInto('app_user')
      .values({ email: newEmail, email_key: foldAddress(newEmail), password_hash: 'x' })
      .returning('id')
      .executeTakeFirstOrThrow()
    await ask(someone, newEmail)
    await confirm(someone, await tokenFor(newEmail))
    expect(await addressOf(someone)).toBe(newEmail)
    const row = world.db.selectFrom('app_user').select(['email', 'password_hash']).where('id', '=', squatter.id)
    expect(await row.executeTakeFirst()).toEqual({
      email: expect.stringMatching(/@erased\.invalid$/),
      password_hash: null,
    })
  })
})
