// Limit of mails to one address by unauthenticated requests: per address, for any number of clients, with or without an
// account.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson } from '../support/app/people.ts'
import { givenAccount, newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { mailsTo, untilRequestsDone } from '../support/app/sign-in/inbox.ts'
import { givenTeam } from '../support/app/teams.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address

const open = (path: string, body: object) => createAppClient(world.api.url).call('POST', `/auth${path}`, { body })
const templatesTo = async (email: string) => (await mailsTo(world.db, world.api, email)).map(({ template }) => template)
/** Moves the last mail back by this many minutes. */
const pass = (minutes: number) =>
  sql`update mail_room set spent_until = spent_until - ${minutes} * interval '1 minute'`.execute(world.db)

describe('unauthenticated clients', () => {
  /** Ignores links of earlier mails. */
  const forgetTokens = () => world.db.deleteFrom('mail_token').execute()

  it('cause five mails to one address at once, then one an hour, in any way', async () => {
    const { email } = await givenAccount(world) // with the first
    const ask = async (): Promise<readonly unknown[]> => {
      const answers = [
        await open('/password/forgot', { email: email.toUpperCase() }),
        await open('/register', { email, password: newPassword() }),
        await open('/verify-email/resend', { email }),
      ]
      await untilRequestsDone(world.db)
      await forgetTokens()
      return answers.map(({ status, data }) => [status, data])
    }
    const answers: (readonly unknown[])[] = []
    for (let round = 0; round < 5; round += 1) answers.push(await ask())
    const links = async () => (await templatesTo(email)).filter((template) => template !== 'already-registered')
    expect(await links()).toEqual(['verify-email', ...Array.from({ length: 4 }, () => 'reset-password')])
    // The response does not reveal it.
    expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1)
    await pass(60)
    for (let round = 0; round < 2; round += 1) await ask()
    expect(await links()).toHaveLength(6)
  })

  it('cause one note an hour that an address has an account, which keeps its owner’s links valid', async () => {
    const { email } = await givenAccount(world) // with the first link
    const registerAgain = async () => {
      for (let times = 0; times < 3; times += 1) await open('/register', { email, password: newPassword() })
      await untilRequestsDone(world.db)
    }
    await registerAgain()
    for (let round = 0; round < 4; round += 1) {
      await open('/password/forgot', { email })
      await untilRequestsDone(world.db)
      await forgetTokens()
    }
    const count = async (template: string) => (await templatesTo(email)).filter((each) => each === template).length
    expect([await count('already-registered'), await count('reset-password')]).toEqual([1, 4])
    await pass(60)
    await registerAgain()
    expect(await count('already-registered')).toBe(2)
  })

  it('do not block invitations by signed-in users', async () => {
    const { email } = await givenAccount(world)
    for (let round = 0; round < 6; round += 1) {
      await open('/password/forgot', { email })
      await untilRequestsDone(world.db)
      await forgetTokens()
    }
    const { client } = await givenPerson(world.db, world.api)
    await client.call('POST', '/referral/invitations', { body: { email } })
    expect((await templatesTo(email)).at(-1)).toBe('referral-invitation')
  })
})

describe('many signed-in users', () => {
  it.each([
    ['an account', true],
    ['none', false],
  ])('cause five mails to an address with %s, then one in five hours', async (_what, known) => {
    const email = known ? (await givenPerson(world.db, world.api)).email : newEmail()
    const refused = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'address' } }
    const refer = async () =>
      (await givenPerson(world.db, world.api)).client.call('POST', '/referral/invitations', { body: { email } })
    const changeTo = async () => {
      const someone = await givenPerson(world.db, world.api)
      await givePassword(world.db, someone)
      return someone.client.call('POST', '/auth/email/change', { body: { newEmail: email, password } })
    }
    const invite = async () => {
      const { owner, path } = await givenTeam(world, { credits: 0 })
      return owner.client.call('POST', `${path}/invites`, { body: { email: email.toUpperCase(), role: 'member' } })
    }
    for (const act of [refer, changeTo, invite, refer, changeTo]) await act()
    await expect(changeTo()).rejects.toMatchObject(refused)
    await expect(invite()).rejects.toMatchObject(refused)
    // A referral is still stored, with the usual response.
    expect(await refer()).toMatchObject({ status: 201, data: { status: 'invited' } })
    const sent = ['confirm-email', 'confirm-email', 'referral-invitation', 'referral-invitation', 'team-invitation']
    expect((await templatesTo(email)).sort()).toEqual(sent)
    await pass(4 * 60)
    await expect(invite()).rejects.toMatchObject(refused)
    await pass(60)
    await invite()
    await expect(changeTo()).rejects.toMatchObject(refused)
  })

  it('with concurrent requests are counted one by one', async () => {
    const email = newEmail()
    const people = await Promise.all(Array.from({ length: 12 }, () => givenPerson(world.db, world.api)))
    for (const each of people) await givePassword(world.db, each)
    const asked = await Promise.allSettled(
      people.map(({ client }) => client.call('POST', '/auth/email/change', { body: { newEmail: email, password } })),
    )
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(await templatesTo(email)).toHaveLength(5)
  })
})
