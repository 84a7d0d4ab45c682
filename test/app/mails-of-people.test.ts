// Dates, numbers and names in mails.
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { order, pay } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { givenTeam } from '../support/app/teams.ts'
import { useMailbox } from '../support/app/visitor/mailbox.ts'

const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`
const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', MASTER_KEYS: masterKeys })
const mailbox = useMailbox(() => ({ databaseUrl: world.databaseUrl, masterKeys }))

describe('a mail about a subscription', () => {
  it.each([
    ['fr-FR', 'Europe/Paris', '29,00 $US'],
    ['en-US', 'America/New_York', '$29.00'],
    ['ja-JP', 'Asia/Tokyo', '$29.00'],
    ['ar-EG', 'Africa/Cairo', '\u2068\u200f٢٩٫٠٠ US$\u2069'],
    ['en-GB', 'Asia/Kathmandu', 'US$29.00'],
  ])('formats amount and date as %s does, in %s', async (locale, timeZone, amount) => {
    const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    const { client, email } = someone
    await client.call('PATCH', '/users/profile', { body: { locale, timeZone } })
    await pay(someone, await order(someone, { plan: 'pro', interval: 'month' }))
    expect((await mailbox.untilMail(email, 'We received your payment')).text).toContain(`You paid ${amount}.`)
    await client.call('POST', '/payments/subscription/cancel')
    const { data } = await client.call<{ periodEnd: string }>('GET', '/payments/subscription')
    const day = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone }).format(new Date(data.periodEnd))
    const mail = await mailbox.untilMail(email, 'Your subscription was canceled')
    const isolated = locale === 'ar-EG'
    expect(mail.text).toContain(`The plan ends on ${isolated ? `\u2068${day}\u2069` : day}.`)
    expect(mail.html).toContain(`The plan ends on ${isolated ? `<bdi>${day}</bdi>` : day}.`)
  })
})

it('mails and notifications are in the language of the account, also after a change', async () => {
  const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
  const { client, email } = someone
  await client.call('PATCH', '/users/profile', { body: { locale: 'de-AT', timeZone: 'Europe/Vienna' } })
  await pay(someone, await order(someone, { plan: 'pro', interval: 'month' }))
  const paid = await mailbox.untilMail(email, 'Wir haben Ihre Zahlung erhalten')
  expect(paid.text).toContain('Sie haben $ 29,00 bezahlt.')
  expect(paid.html).toContain('<html lang="de">')
  const { data } = await client.call<{ items: { title: string }[] }>('GET', '/notifications')
  expect(data.items.map(({ title }) => title)).toContain('Wir haben Ihre Zahlung erhalten')
  await client.call('PATCH', '/users/profile', { body: { locale: 'en' } })
  await client.call('POST', '/payments/subscription/cancel')
  expect((await mailbox.untilMail(email, 'Your subscription was canceled')).html).toContain('<html lang="en">')
})

describe('mails before the first sign-in', () => {
  const register = (more: object, headers: Record<string, string> = {}) => {
    const email = newEmail()
    const body = { email, password: newPassword(), ...more }
    return createAppClient(world.api.url)
      .call('POST', '/auth/register', { body, headers })
      .then(() => email)
  }

  it('are in the language that the registration names, and so is that of a reset', async () => {
    const email = await register({ locale: 'de-at' }, { 'accept-language': 'fr' })
    expect((await mailbox.untilMail(email, 'Bestätigen Sie Ihre Adresse')).html).toContain('<html lang="de">')
    await createAppClient(world.api.url).call('POST', '/auth/password/forgot', { body: { email } })
    expect((await mailbox.untilMail(email, 'Wählen Sie ein neues Passwort')).text).toContain('10 Minuten')
    const { locale } = await world.db
      .selectFrom('app_user')
      .select('locale')
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    expect(locale).toBe('de-AT')
  })

  it('are in the language that the browser prefers, if the registration names none', async () => {
    const email = await register({}, { 'accept-language': 'en;q=0.5, de-DE' })
    await mailbox.untilMail(email, 'Bestätigen Sie Ihre Adresse')
  })

  it('are in English without either', async () => {
    const email = await register({ locale: null }, { 'accept-language': '*' })
    await mailbox.untilMail(email, 'Confirm your address')
  })

  it('are not sent for a registration with an unknown kind of locale', async () => {
    await expect(register({ locale: 'not a locale' })).rejects.toMatchObject({
      ...{ status: 400, code: 'INVALID_PARAMS' },
      details: { issues: [{ path: '/body/locale' }] },
    })
  })
})

describe('an invitation', () => {
  const german = async (owner: Person): Promise<void> => {
    await owner.client.call('PATCH', '/users/profile', { body: { locale: 'de-AT' } })
  }

  it('to an address without an account is in the language of the inviter', async () => {
    const team = await givenTeam(world)
    await german(team.owner)
    const [colleague, friend] = [newEmail(), newEmail()]
    await team.owner.client.call('POST', `${team.path}/invites`, { body: { email: colleague, role: 'member' } })
    const invitation = await mailbox.untilMail(colleague, `${team.owner.email} lädt Sie zu `)
    expect(invitation.html).toContain('<html lang="de">')
    await team.owner.client.call('POST', '/referral/invitations', { body: { email: friend } })
    expect((await mailbox.untilMail(friend, 'lädt Sie zu Matte ein')).html).toContain('<html lang="de">')
  })

  it('to a team is in the language of the account that it invites', async () => {
    const team = await givenTeam(world)
    await german(team.owner)
    const { email } = await givenPerson(world.db, world.api)
    await team.owner.client.call('POST', `${team.path}/invites`, { body: { email, role: 'member' } })
    expect((await mailbox.untilMail(email, `${team.owner.email} invites you to `)).html).toContain('<html lang="en">')
  })
})

describe('a user-supplied name in a mail', () => {
  it('of an inviter contains no address and no markup, in subject, text and HTML', async () => {
    const { client } = await givenPerson(world.db, world.api)
    const name = 'Prize at https://evil.example/win or win@evil.example <b>now</b>'
    await client.call('PATCH', '/users/profile', { body: { name } })
    const email = newEmail()
    await client.call('POST', '/referral/invitations', { body: { email } })
    const mail = await mailbox.untilMail(email, 'invites you to Matte')
    expect(mail.subject).toBe('Prize at https evil example win or win evil example b now b invites you to Matte')
    expect(mail.text + mail.html).not.toMatch(/evil\.example|win@|<b>|&lt;b/)
  })

  it('of a team from before the rule contains none either', async () => {
    const team = await givenTeam(world)
    const name = 'evil.example/<i>win</i>'
    await world.db.updateTable('workspace').set({ name }).where('id', '=', team.id).execute()
    const email = newEmail()
    await team.owner.client.call('POST', `${team.path}/invites`, { body: { email, role: 'member' } })
    const mail = await mailbox.untilMail(email, 'invites you to')
    expect(mail.subject).toBe(`${team.owner.email} invites you to evil example i win i`)
    expect(mail.text + mail.html).not.toMatch(/evil\.example|<i>|&lt;i/)
  })
})
