// Notifications end to end: events in, notifications of the App API and mails out.
import { randomUUID } from 'node:crypto'
import { countsOrThrow } from '@matte/core/db/sweep'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { webhookEvents } from '@matte/core/webhook/events'
import { publishEvent } from '@matte/core/webhook/publish-event'
import { defaultPlans } from '@matte/core/workspace/plan'
import { publishPersonalEvent } from '@matte/people/notification/publish-events'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { type DispatcherProcess, spawnDispatcher } from '../dispatcher/dispatcher-process.ts'
import { type MailServer, mailEnv, startMailServer } from '../dispatcher/mail-server.ts'
import { givenPerson, type Person, type PersonOptions } from '../support/app/people.ts'
import { processDb } from '../support/roles.ts'
import { until } from '../support/until.ts'

type Shown = { id: string; type: string; title: string; body: string; data: object; readAt: string | null }
type Page = { items: Shown[]; total: number; nextCursor: string | null }
type Preference = { event: string; inApp: boolean; email: boolean; emailRequired: boolean }

const world = useApi()
let mails: MailServer
let dispatcher: DispatcherProcess

beforeAll(async () => {
  mails = await startMailServer()
  dispatcher = await spawnDispatcher({
    DATABASE_URL: world.databaseUrl,
    MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
    APP_URL: 'https://app.example.com',
    ...mailEnv(mails.url),
  })
})
afterAll(async () => {
  dispatcher.kill('SIGTERM')
  await dispatcher.exited
  await mails.close()
})

const person = (options?: PersonOptions) => givenPerson(world.db, world.api, options)

const list = async ({ client }: Person, query = '') => (await client.call<Page>('GET', `/notifications${query}`)).data
const unread = async ({ client }: Person) =>
  (await client.call<{ unread: number }>('GET', '/notifications/unread-count')).data.unread

const setPreferences = ({ client }: Person, preferences: readonly (Partial<Preference> & { event: string })[]) =>
  client.call<{ preferences: Preference[] }>('PUT', '/notifications/preferences', { body: { preferences } })

const lowBalance = (workspaceId: string, key: string = randomUUID()) =>
  publishEvent(world.db, {
    ...{ event: 'credits.low_balance', fields: { balance: 9, message: 'Few credits.' } },
    ...{ key, workspaceId, userId: null },
  })

const welcome = ({ userId }: Person, key: string = userId) =>
  publishPersonalEvent(world.db, userId, { event: 'welcome', fields: { message: 'Welcome.' }, key })

const untilTold = () =>
  until('every event is told', async () => {
    const { rows } = await sql`select from notification_due`.execute(world.db)
    return rows.length === 0
  })

const untilMailsGone = () =>
  until('no mail waits', async () => {
    const { rows } = await sql`select from mail where status = 'pending'`.execute(world.db)
    return rows.length === 0
  })

/** Subjects of mails to this person. */
async function mailsTo({ email }: Person): Promise<string[]> {
  await untilTold()
  await untilMailsGone()
  const own = mails.received.filter(({ to }) => to === email)
  return own.map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw)?.[1] ?? '')
}

describe('an event', () => {
  it('of a person creates a notification and a mail of that person only', async () => {
    const [ada, other] = [await person(), await person()]
    await welcome(ada)
    await untilTold()
    expect((await list(ada)).items).toMatchObject([{ type: 'welcome', title: 'Welcome to Matte', readAt: null }])
    expect(await mailsTo(ada)).toEqual(['Welcome to Matte'])
    expect((await list(other)).items).toEqual([])
    expect(await mailsTo(other)).toEqual([])
  })

  it('of a workspace reaches the roles that it concerns', async () => {
    const owner = await person()
    const { workspaceId } = owner
    const [admin, billing, member, stranger] = [
      await person({ member: { workspaceId, role: 'admin' } }),
      await person({ member: { workspaceId, role: 'billing' } }),
      await person({ member: { workspaceId, role: 'member' } }),
      await person(),
    ]
    await lowBalance(workspaceId)
    await untilTold()
    for (const told of [owner, admin, billing]) {
      expect((await list(told)).items).toMatchObject([{ type: 'credits.low_balance', data: { balance: 9 } }])
      expect(await mailsTo(told)).toEqual(['Few credits are left'])
    }
    for (const spared of [member, stranger]) {
      expect(await list(spared)).toMatchObject({ items: [], total: 0 })
      expect(await mailsTo(spared)).toEqual([])
    }
  })

  it('that is published again is delivered once, also after the first delivery', async () => {
    const ada = await person()
    await lowBalance(ada.workspaceId, 'the same')
    await untilTold()
    await lowBalance(ada.workspaceId, 'the same')
    await lowBalance(ada.workspaceId, 'another')
    await untilTold()
    expect((await list(ada)).total).toBe(2)
    expect(await mailsTo(ada)).toHaveLength(2)
  })

  it('of a transaction that is rolled back is not delivered', async () => {
    const ada = await person()
    const undone = world.db.transaction().execute(async (tx) => {
      await publishPersonalEvent(tx, ada.userId, { event: 'welcome', fields: { message: '' }, key: ada.userId })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    await lowBalance(ada.workspaceId)
    await untilTold()
    expect((await list(ada)).items.map(({ type }) => type)).toEqual(['credits.low_balance'])
  })

  it('of a future version waits and blocks no other', async () => {
    const ada = await person()
    const { id } = await world.db
      .insertInto('notification_due')
      .values({ event: 'new.event', event_key: 'a', workspace_id: ada.workspaceId, user_id: ada.userId, fields: '{}' })
      .returning('id')
      .executeTakeFirstOrThrow()
    await welcome(ada)
    await until('the other is told', async () => (await list(ada)).total === 1)
    const deleted = await world.db.deleteFrom('notification_due').where('id', '=', id).executeTakeFirst()
    expect(deleted.numDeletedRows).toBe(1n)
  })

  it('reaches no former member and no disabled user, and sends no mail to an unverified address', async () => {
    const owner = await person()
    const { workspaceId } = owner
    const [left, disabled, unverified] = [
      await person({ member: { workspaceId, role: 'admin' } }),
      await person({ member: { workspaceId, role: 'admin' } }),
      await person({ member: { workspaceId, role: 'admin' } }),
    ]
    await world.db.deleteFrom('membership').where('user_id', '=', left.userId).execute()
    const change = (who: Person, values: { disabled_at?: Date; email_verified_at?: null }) =>
      world.db.updateTable('app_user').set(values).where('id', '=', who.userId).execute()
    await change(unverified, { email_verified_at: null })
    await change(disabled, { disabled_at: new Date() })
    await lowBalance(workspaceId)
    await untilTold()
    const told = await world.db.selectFrom('notification').select('user_id').where('workspace_id', '=', workspaceId)
    const ids = (await told.execute()).map(({ user_id }) => user_id)
    expect(ids.sort()).toEqual([owner.userId, unverified.userId].sort())
    for (const spared of [left, disabled, unverified]) expect(await mailsTo(spared)).toEqual([])
  })

  it('of a security matter is mailed regardless of preferences, without an unsubscribe link', async () => {
    const ada = await person()
    await publishPersonalEvent(world.db, ada.userId, {
      ...{ event: 'security.password_changed', fields: { message: 'Changed.' }, key: randomUUID() },
    })
    expect(await mailsTo(ada)).toEqual(['Your password was changed'])
    const raw = mails.received.find(({ to }) => to === ada.email)?.raw ?? ''
    expect(raw).not.toContain('/settings/notifications')
    await lowBalance(ada.workspaceId)
    await mailsTo(ada)
    const other = mails.received.findLast(({ to }) => to === ada.email)?.raw ?? ''
    expect(other).toContain('https://app.example.com/settings/notifications')
  })

  it('of an invitation has a separate mail, and its link is in no notification', async () => {
    const ada = await person()
    const fields = { team_name: 'Shop', inviter_email: 'bob@example.com', role: 'member', message: '' }
    await publishPersonalEvent(world.db, ada.userId, {
      ...{ event: 'team.invitation', key: randomUUID() },
      fields: { ...fields, invite_url: 'https://app.example.com/invite?token=secret' },
    })
    await untilTold()
    expect(await mailsTo(ada)).toEqual([])
    const { items } = await list(ada)
    expect(items).toMatchObject([{ title: 'You are invited to Shop', data: { role: 'member' } }])
    expect(JSON.stringify(items)).not.toContain('secret')
  })
})

describe('notifications', () => {
  it('are marked read one by one or all at once, and counted while unread', async () => {
    const ada = await person()
    for (const key of ['a', 'b', 'c']) await welcome(ada, key)
    await until('all are told', async () => (await unread(ada)) === 3)
    const [newest] = (await list(ada)).items
    const read = () => ada.client.call<Shown>('POST', `/notifications/${newest?.id}/read`)
    const { readAt } = (await read()).data
    expect(readAt).not.toBeNull()
    expect((await read()).data.readAt).toBe(readAt)
    expect(await unread(ada)).toBe(2)
    expect((await list(ada, '?unread=true')).items.map(({ id }) => id)).not.toContain(newest?.id)
    expect((await list(ada)).total).toBe(3)
    expect((await ada.client.call('POST', '/notifications/read-all')).data).toEqual({ marked: 2 })
    expect((await ada.client.call('POST', '/notifications/read-all')).data).toEqual({ marked: 0 })
    expect(await unread(ada)).toBe(0)
    expect(await list(ada, '?unread=true')).toMatchObject({ items: [], total: 0 })
  })

  it('are listed in pages, newest first, each once', async () => {
    const ada = await person()
    for (let n = 0; n < 5; n++) await welcome(ada, `w${n}`)
    await until('all are told', async () => (await unread(ada)) === 5)
    const first = await list(ada, '?pageSize=2')
    const second = await list(ada, `?pageSize=2&cursor=${first.nextCursor}`)
    const third = await list(ada, `?pageSize=2&cursor=${second.nextCursor}`)
    expect([first.total, third.nextCursor]).toEqual([5, null])
    const ids = [first, second, third].flatMap(({ items }) => items.map(({ id }) => id))
    expect(ids).toEqual((await list(ada)).items.map(({ id }) => id))
    expect((await list(ada, '?pageSize=2&page=3')).items.map(({ id }) => id)).toEqual(ids.slice(4))
  })

  it('of another user are not found, to read or to mark', async () => {
    const [ada, other] = [await person(), await person()]
    await welcome(ada)
    await until('it is told', async () => (await unread(ada)) === 1)
    const [item] = (await list(ada)).items
    for (const id of [item?.id, randomUUID(), 'no-id']) {
      const marked = other.client.call('POST', `/notifications/${id}/read`)
      await expect(marked).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
    expect((await other.client.call('POST', '/notifications/read-all')).data).toEqual({ marked: 0 })
    expect(await unread(ada)).toBe(1)
  })

  it('are deleted after 90 days, like the records of mails', async () => {
    const ada = await person()
    await welcome(ada)
    await mailsTo(ada)
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
    const sweep = (days: number) =>
      sweepRetention(
        { db: processDb('worker', world.db), plans: defaultPlans, auditRetentionDays: 365, bucket: undefined },
        { now: inDays(days) },
      ).then(countsOrThrow)
    expect(await sweep(89)).toMatchObject({ notifications_deleted: 0, mails_deleted: 0 })
    expect((await list(ada)).total).toBe(1)
    const counts = await sweep(91)
    expect(counts.notifications_deleted).toBeGreaterThan(0)
    expect(counts.mails_deleted).toBeGreaterThan(0)
    expect((await list(ada)).total).toBe(0)
  })
})

describe('preferences', () => {
  it('have a default for every event', async () => {
    const { client } = await person()
    const { data } = await client.call<{ preferences: Preference[] }>('GET', '/notifications/preferences')
    expect(data.preferences.map(({ event }) => event)).toEqual(webhookEvents)
    const of = (event: string) => data.preferences.find((each) => each.event === event)
    expect(of('task.succeeded')).toMatchObject({ inApp: false, email: false, emailRequired: false })
    expect(of('payment.failed')).toMatchObject({ inApp: true, email: true, emailRequired: false })
    expect(of('security.mfa_disabled')).toMatchObject({ email: true, emailRequired: true })
  })

  it('select events; omitted ones keep their value', async () => {
    const ada = await person()
    await setPreferences(ada, [{ event: 'welcome', inApp: false }])
    await setPreferences(ada, [{ event: 'credits.low_balance', email: false }])
    const { data } = await setPreferences(ada, [{ event: 'welcome', email: true }])
    expect(data.preferences).toContainEqual({ event: 'welcome', inApp: false, email: true, emailRequired: false })
    await welcome(ada)
    await lowBalance(ada.workspaceId)
    expect(await mailsTo(ada)).toEqual(['Welcome to Matte'])
    expect((await list(ada)).items.map(({ type }) => type)).toEqual(['credits.low_balance'])
  })

  it('that would disable mandatory events are rejected as a whole', async () => {
    const ada = await person()
    const silence = setPreferences(ada, [
      { event: 'welcome', email: false },
      { event: 'security.password_changed', email: false },
      { event: 'team.invitation', email: false },
    ])
    await expect(silence).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/body/preferences/1/email' }, { path: '/body/preferences/2/email' }] },
    })
    await expect(setPreferences(ada, [{ event: 'none' }])).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    const { data } = await setPreferences(ada, [{ event: 'security.password_changed', inApp: false, email: true }])
    expect(data.preferences).toContainEqual(expect.objectContaining({ event: 'welcome', email: true }))
  })
})
