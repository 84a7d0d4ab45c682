// Links in mails without a web app: each leads to a page of the API, whose form does the operation.
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { givenTeam } from '../support/app/teams.ts'
import { visit } from '../support/app/visitor/browser.ts'
import { linkIn, useMailbox } from '../support/app/visitor/mailbox.ts'
import { until } from '../support/until.ts'

const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`
const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', MASTER_KEYS: masterKeys })
const mailbox = useMailbox(() => ({ databaseUrl: world.databaseUrl, masterKeys }))

const pageAt = (path: string) => `${world.api.url}/api/v1/app/pages${path}`
const open = () => createAppClient(world.api.url)
const logIn = (email: string, password: string) => open().call('POST', '/auth/login', { body: { email, password } })
const liveSessions = async (userId: string) =>
  world.db.selectFrom('session').select('id').where('user_id', '=', userId).where('ended_at', 'is', null).execute()

async function person(): Promise<Person> {
  const someone = await givenPerson(world.db, world.api)
  await givePassword(world.db, someone)
  return someone
}

async function registered(email: string, password: string): Promise<string> {
  await open().call('POST', '/auth/register', { body: { email, password, name: 'Ada' } })
  return linkIn(await mailbox.untilMail(email, 'Confirm your address'), 'Confirm address')
}

describe('the link of a registration', () => {
  it('leads to a page that confirms the address with the password, once', async () => {
    const [email, password] = [newEmail(), newPassword()]
    const link = await registered(email, password)
    const page = await visit(link)
    expect([page.status, page.heading]).toEqual([200, 'Confirm your address'])
    await visit(link, { method: 'HEAD' })
    const done = await page.submit({ password })
    expect([done.status, done.heading]).toEqual([200, 'Your address is confirmed'])
    expect((await logIn(email, password)).data).toMatchObject({ tokenType: 'Bearer', user: { email } })
    expect((await page.submit({ password })).heading).toBe('This link does not work')
    expect((await visit(link)).heading).toBe('This link does not work')
  })

  it('leaves no unused session', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await (await visit(await registered(email, password))).submit({ password })
    const { id } = await world.db
      .selectFrom('app_user')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    expect(await liveSessions(id)).toEqual([])
  })

  it('that is expired offers another one, for any address', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await registered(email, password)
    const dead = await visit(pageAt('/verify-email?token=nothing'))
    expect(dead.heading).toBe('This link does not work')
    const [known, unknown] = [await dead.submit({ email }), await dead.submit({ email: newEmail() })]
    expect(known.text).toBe(unknown.text)
    const second = await until('the second mail', () => mailbox.mailsTo(email)[1])
    const page = await visit(linkIn(second, 'Confirm address'))
    expect((await page.submit({ password })).heading).toBe('Your address is confirmed')
  })

  it('asks again for a missing password, beside the field', async () => {
    const page = await visit(await registered(newEmail(), newPassword()))
    const again = await page.submit({})
    expect([again.status, again.heading]).toEqual([400, 'Confirm your address'])
    expect(again.text).toContain('Password is required.')
    expect(again.html).toMatch(/<title>Error: Confirm your address/)
    expect(again.html).toMatch(/<input id="password"[^>]*aria-describedby="password-error"[^>]*aria-invalid="true"/)
  })
})

describe('the link for a new password', () => {
  it('leads to a page that sets it, once; a bad one is rejected beside its field', async () => {
    const { email } = await person()
    const forgot = await visit(pageAt('/forgot-password'))
    expect((await forgot.submit({ email })).heading).toBe('Check your mail')
    const link = linkIn(await mailbox.untilMail(email, 'Choose a new password'), 'Choose a new password')
    const page = await visit(link)
    const refused = await page.submit({ newPassword: 'short' })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('New password must not have fewer')])
    const common = await refused.submit({ newPassword: 'Password1234!' })
    expect([common.status, common.text]).toEqual([400, expect.stringContaining('New password is too easy to guess')])
    const chosen = newPassword()
    expect((await common.submit({ newPassword: chosen })).heading).toBe('Your password is changed')
    await logIn(email, chosen)
    expect((await page.submit({ newPassword: newPassword() })).heading).toBe('This link does not work')
  })

  it('for an address with an account is in the mail about it, beside signing in', async () => {
    const { email } = await person()
    await open().call('POST', '/auth/register', { body: { email, password: newPassword() } })
    const mail = await mailbox.untilMail(email, 'You already have an account')
    expect((await visit(linkIn(mail, 'Choose a new password'))).heading).toBe('Choose a new password')
    const signedIn = await (await visit(linkIn(mail, 'Sign in'))).submit({ email, password })
    expect(signedIn.heading).toBe('You are signed in')
    const [, token = ''] = /<pre class="token"[^>]*>([^<]+)</.exec(signedIn.html) ?? []
    const { data } = await createAppClient(world.api.url, token).call('GET', '/users/profile')
    expect(data).toMatchObject({ email })
  })
})

describe('the link for a new address', () => {
  it('leads to a page that changes it after signing in, with a code if the account requires one', async () => {
    const someone = await person()
    const { nextCode, wrongCode } = await enableSecondFactor(world.db, someone.client)
    const newAddress = newEmail()
    const body = { newEmail: newAddress, password, code: await nextCode() }
    await someone.client.call('POST', '/auth/email/change', { body })
    const link = linkIn(await mailbox.untilMail(newAddress, 'Confirm your new address'), 'Confirm new address')
    const page = await visit(link)
    const wrong = await page.submit({ email: someone.email, password: 'not the password' })
    expect([wrong.status, wrong.text]).toEqual([
      401,
      expect.stringContaining('The e-mail address or the password is wrong'),
    ])
    expect(wrong.html).toContain(`value="${someone.email}"`)
    const asks = await wrong.submit({ email: someone.email, password })
    expect([asks.status, asks.heading]).toEqual([200, 'Enter a code'])
    const again = await asks.submit({ code: await wrongCode() })
    expect([again.status, again.heading]).toEqual([400, 'Enter a code'])
    expect((await again.submit({ code: await nextCode() })).heading).toBe('Your address is changed')
    expect((await someone.client.call('GET', '/users/profile')).data).toMatchObject({ email: newAddress })
    expect(await liveSessions(someone.userId)).toEqual([{ id: someone.sessionId }])
    expect((await visit(link)).heading).toBe('This link does not work')
    const { items } = (
      await someone.client.call<{ items: { action: string }[] }>('GET', `/teams/${someone.workspaceId}/audit-log`)
    ).data
    expect(items.map(({ action }) => action)).toContain('confirmEmail')
  })
})

describe('the link of an invitation', () => {
  it('leads to a page on which only the invited person can join', async () => {
    const team = await givenTeam(world)
    const [invited, other] = [await person(), await person()]
    await team.owner.client.call('POST', `${team.path}/invites`, { body: { email: invited.email, role: 'member' } })
    const link = linkIn(await mailbox.untilMail(invited.email, 'invites you to Shop'), 'See the invitation')
    const page = await visit(link)
    const refused = await page.submit({ email: other.email, password })
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('This invitation is for another address'),
    ])
    expect((await refused.submit({ email: invited.email, password })).heading).toBe('You are in the team Shop')
    const members = await team.owner.client.call<{ items: { email: string }[] }>('GET', `${team.path}/members`)
    expect(members.data.items.map(({ email }) => email)).toContain(invited.email)
    expect((await visit(link)).heading).toBe('This link does not work')
  })

  it('leads to registration first without an account', async () => {
    const team = await givenTeam(world)
    const [email, password] = [newEmail(), newPassword()]
    await team.owner.client.call('POST', `${team.path}/invites`, { body: { email, role: 'member' } })
    const invitation = await visit(linkIn(await mailbox.untilMail(email, 'invites you to Shop'), 'See the invitation'))
    const form = await invitation.follow('Create an account')
    expect((await form.submit({ email, password })).heading).toBe('Check your mail')
    const link = linkIn(await mailbox.untilMail(email, 'Confirm your address'), 'Confirm address')
    await (await visit(link)).submit({ password })
    expect((await invitation.submit({ email, password })).heading).toBe('You are in the team Shop')
  })
})

it('the link of a referral leads to a registration page with its code', async () => {
  const { client } = await person()
  const [email, password] = [newEmail(), newPassword()]
  await client.call('POST', '/referral/invitations', { body: { email } })
  const form = await visit(linkIn(await mailbox.untilMail(email, 'invites you to Matte'), 'Try Matte'))
  const refused = await form.submit({ email, password: 'short' })
  expect(refused.html).toContain(`value="${email}"`)
  expect((await refused.submit({ email, password })).heading).toBe('Check your mail')
  await (await visit(linkIn(await mailbox.untilMail(email, 'Confirm your address'), 'Confirm address'))).submit({
    password,
  })
  await until('the referral is joined', async () => {
    const { data } = await client.call<{ joined: number }>('GET', '/referral')
    return data.joined === 1
  })
})
