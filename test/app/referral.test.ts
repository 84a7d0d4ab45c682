// Referrals as the referrer sees them.
import { randomBytes } from 'node:crypto'
import { unseal } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'

const world = useApi({ APP_URL: 'https://app.example.com', REFERRAL_REWARD_CREDITS: '70' })
const person = (): Promise<Person> => givenPerson(world.db, world.api)
const newAddress = (): string => `Friend-${randomBytes(5).toString('hex')}@example.com`

type Referral = { code: string; url: string }
type Invitation = { id: string; email: string | null; status: string }
type Page = { items: Invitation[]; total: number; nextCursor: string | null }

const invite = ({ client }: Person, email: string, headers = {}) =>
  client.call<Invitation>('POST', '/referral/invitations', { body: { email }, headers })
const mailsTo = (email: string) => world.db.selectFrom('mail').selectAll().where('to_address', '=', email).execute()

describe('GET /referral', () => {
  it('returns a permanent code of the user, also with concurrent requests', async () => {
    const { client } = await person()
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.call<Referral>('GET', '/referral')))
    const [first] = answers
    expect(new Set(answers.map(({ data }) => data.code)).size).toBe(1)
    expect(first?.data.code).toMatch(/^[2-9A-HJKMNP-Z]{8}$/)
    expect(first?.data).toEqual({
      code: first?.data.code,
      url: `https://app.example.com/register?ref=${first?.data.code}`,
      rewardCredits: 70,
      invited: 0,
      joined: 0,
      rewarded: 0,
      creditsEarned: 0,
    })
    const other = await (await person()).client.call<Referral>('GET', '/referral')
    expect(other.data.code).not.toBe(first?.data.code)
  })
})

describe('POST /referral/invitations', () => {
  it('sends a mail with the link, and lists the address masked', async () => {
    const inviter = await person()
    const email = newAddress()
    const { status, data: invitation } = await invite(inviter, email)
    expect(status).toBe(201)
    expect(invitation).toMatchObject({
      email: 'F***@example.com',
      status: 'invited',
      rewardCredits: null,
      joinedAt: null,
    })
    const [mail, ...more] = await mailsTo(email)
    expect(more).toEqual([])
    const { data: referral } = await inviter.client.call<Referral>('GET', '/referral')
    expect(mail?.template).toBe('referral-invitation')
    const data = unseal(world.api.config.masterKeys, mail?.id ?? '', mail?.data_sealed ?? '')
    const { url } = referral
    expect(JSON.parse(data)).toEqual({ inviterName: '', inviterEmail: inviter.email, inviterLocale: 'en', url })
    expect(referral).toMatchObject({ invited: 1, joined: 0 })
  })

  it('responds the same with or without an account', async () => {
    const inviter = await person()
    const known = await person()
    const [one, other] = [await invite(inviter, known.email), await invite(inviter, newAddress())]
    expect(Object.keys(one.data)).toEqual(Object.keys(other.data))
    expect({ ...one.data, id: '', email: '', invitedAt: '', createdAt: '' }).toEqual({
      ...other.data,
      id: '',
      email: '',
      invitedAt: '',
      createdAt: '',
    })
    expect(await mailsTo(known.email)).toHaveLength(1)
  })

  it('sends an address one mail, however often and in any case', async () => {
    const inviter = await person()
    const email = newAddress()
    const answers = await Promise.all([email, email.toLowerCase(), email].map((each) => invite(inviter, each)))
    expect(new Set(answers.map(({ data }) => data.id)).size).toBe(1)
    expect([...(await mailsTo(email)), ...(await mailsTo(email.toLowerCase()))]).toHaveLength(1)
  })

  it('creates one invitation per idempotency key', async () => {
    const inviter = await person()
    const email = newAddress()
    const headers = { 'idempotency-key': 'one' }
    const first = await invite(inviter, email, headers)
    const again = await invite(inviter, email, headers)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.data).toEqual(first.data)
    await expect(invite(inviter, newAddress(), headers)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('accepts twenty in 24 hours, also when concurrent', async () => {
    const inviter = await person()
    const answers = await Promise.allSettled(Array.from({ length: 23 }, () => invite(inviter, newAddress())))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    expect(refused).toHaveLength(3)
    expect(refused[0]).toMatchObject({ status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'invitations' } })
    expect(Number(refused[0].headers.get('retry-after'))).toBeGreaterThan(0)
    await sql`
      update referral set invited_at = invited_at - interval '1 day' where referrer_id = ${inviter.userId}`.execute(
      world.db,
    )
    expect((await invite(inviter, newAddress())).status).toBe(201)
  })

  it('sends one address three mails a week over all referrers, and does not reveal it', async () => {
    const email = newAddress()
    for (let invited = 0; invited < 5; invited++) {
      expect((await invite(await person(), email)).data).toMatchObject({ status: 'invited' })
    }
    expect(await mailsTo(email)).toHaveLength(3)
  })

  it.each(['', 'jane', 'jane@', 'a b@example.com', 'a@b\nBcc: c@d', `${'x'.repeat(250)}@example.com`])(
    'rejects %j as an address',
    async (email) => {
      const details = { issues: [expect.objectContaining({ path: '/body/email' })] }
      await expect(invite(await person(), email)).rejects.toMatchObject({ code: 'INVALID_PARAMS', details })
    },
  )

  it('rejects the user’s own address', async () => {
    const inviter = await person()
    const inviting = invite(inviter, inviter.email.toUpperCase())
    await expect(inviting).rejects.toMatchObject({ status: 400, code: 'INVALID_PARAMS' })
  })
})

describe('GET /referral/invitations', () => {
  it('lists the user’s own, newest first, by page and cursor', async () => {
    const inviter = await person()
    const made: string[] = []
    for (const email of [newAddress(), newAddress(), newAddress()]) made.unshift((await invite(inviter, email)).data.id)
    await invite(await person(), newAddress())
    const first = await inviter.client.call<Page>('GET', '/referral/invitations?pageSize=2')
    expect(first.data).toMatchObject({ total: 3, items: made.slice(0, 2).map((id) => ({ id })) })
    const rest = await inviter.client.call<Page>(
      'GET',
      `/referral/invitations?pageSize=2&cursor=${first.data.nextCursor}`,
    )
    expect(rest.data).toMatchObject({ items: [{ id: made[2] }], nextCursor: null })
  })
})

describe('if invitations are impossible', () => {
  const closed = useApi({ AUTH_REGISTRATION: 'invite' })
  const unmailed = useApi({ MATTE_ENV: 'production', AUTH_REGISTRATION: 'open' })

  it.each([
    ['registration is not open', closed],
    ['production has no mail', unmailed],
  ])('because %s, there are none', async (_why, { db, api }) => {
    const { client } = await givenPerson(db, api)
    const inviting = client.call('POST', '/referral/invitations', { body: { email: newAddress() } })
    await expect(inviting).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect((await client.call('GET', '/referral')).status).toBe(200)
  })
})
