// Turns due events into notifications and mails. Each event is deleted in the transaction that notifies its recipients;
// an event key prevents duplicates. Dispatchers can run this concurrently.

import type { Db } from '@matte/core/db/database'
import { idsAside, type SweepPass, sumEach } from '@matte/core/db/sweep'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { WebhookEvent } from '@matte/core/webhook/events'
import { sql } from 'kysely'
import { queueMail } from '../mail/mail-queue.ts'
import type { PersonLocale } from '../mail/person-format.ts'
import { describeEvent } from './event-texts.ts'
import { eventRules, isKnownEvent } from './preferences.ts'

type Channel = 'inApp' | 'email'

export type NotificationDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly mailEnabled: boolean
  readonly made?: (event: WebhookEvent, channel: Channel) => void
}

/** Days that events are kept while accounts are disabled; notifications are kept as long (delete-old-rows.ts). */
const keptDays = 90

export async function deleteOldEvents(db: Db, { now, limit = 1_000 }: SweepPass = {}): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from notification_due where id in (
      select id from notification_due
       where at <= coalesce(${now ?? null}::timestamptz, now()) - ${keptDays}::int * interval '1 day'
       order by id limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}

type Occurrence = {
  readonly event: string
  readonly key: string
  readonly workspaceId: string
  readonly userId: string | null
  readonly fields: Readonly<Record<string, unknown>>
  /** Less than a day old. Older events, from before accounts were enabled, are not mailed. */
  readonly isRecent: boolean
}

const eventsOfOnePass = 100

/** Notifies recipients of published events; returns the number of events. */
export async function notifyEvents(deps: NotificationDeps, pass: SweepPass): Promise<number> {
  const { db } = deps
  const waiting = await db
    .selectFrom('notification_due')
    .select(sql<string>`id::text`.as('id'))
    .where(sql<boolean>`id <> all(${idsAside(pass)}::bigint[])`)
    .orderBy('notification_due.id')
    .limit(pass.limit ?? eventsOfOnePass)
    .execute()
  return sumEach(waiting, pass, ({ id }) => notifyOnce(deps, (tx) => takeEvent(tx, id)))
}

/** Notifies creators of ended tasks, from the task history; returns the number of events. */
export async function notifyEndedTasks(deps: NotificationDeps, pass: SweepPass): Promise<number> {
  const { db } = deps
  const waiting = await db
    .selectFrom('task_event')
    .select(sql<string>`id::text`.as('id'))
    .where('for_user', 'is not', null)
    .where(sql<boolean>`id <> all(${idsAside(pass)}::bigint[])`)
    .orderBy('task_event.id')
    .limit(pass.limit ?? eventsOfOnePass)
    .execute()
  return sumEach(waiting, pass, ({ id }) => notifyOnce(deps, (tx) => takeEndOfTask(tx, id)))
}

/** `take` claims an event; it returns undefined if another dispatcher has claimed it. */
async function notifyOnce(deps: NotificationDeps, take: (tx: Db) => Promise<Taken>): Promise<number> {
  const { taken, made } = await deps.db.transaction().execute(async (tx) => {
    const event = await take(tx)
    if (event === undefined || event === 'outdated') return { taken: event, made: [] }
    return { taken: event, made: await notifyRecipients({ ...deps, db: tx }, event) }
  })
  for (const { event, channel } of made) deps.made?.(event, channel)
  return taken === undefined ? 0 : 1
}

type Taken = Occurrence | 'outdated' | undefined

async function takeEvent(tx: Db, id: string): Promise<Taken> {
  const { rows } = await sql<Occurrence>`
    delete from notification_due
     where id = (select id from notification_due where id = ${id}::bigint for update skip locked)
    returning event, event_key as "key", workspace_id as "workspaceId", user_id as "userId", fields,
              at > now() - interval '1 day' as "isRecent"`.execute(tx)
  return rows[0]
}

type EndOfTask = {
  readonly taskId: string
  readonly workspaceId: string
  readonly userId: string
  readonly type: string
  readonly run: number
  readonly isLatest: boolean
  readonly payload: { readonly reason?: string; readonly message?: string }
  readonly isRecent: boolean
}

/** Skips the failure of a task that has been retried since. */
async function takeEndOfTask(tx: Db, id: string): Promise<Taken> {
  const { rows } = await sql<EndOfTask>`
    with waiting as materialized (
      select id, for_user from task_event where id = ${id}::bigint and for_user is not null for update skip locked
    )
    update task_event e set for_user = null
      from waiting, task t
     where e.id = waiting.id and t.id = e.task_id
    returning t.id as "taskId", t.workspace_id as "workspaceId", waiting.for_user as "userId", e.type, e.run,
              t.run = e.run as "isLatest", e.payload, e.at > now() - interval '1 day' as "isRecent"`.execute(tx)
  const [end] = rows
  if (end === undefined) return undefined
  if (!end.isLatest) return 'outdated'
  const { taskId, workspaceId, userId, type, run, payload, isRecent } = end
  const { reason, message } = payload
  const fields = type === 'failed' ? { task_id: taskId, reason, message } : { task_id: taskId }
  return { event: `task.${type}`, key: `${taskId}:${run}`, workspaceId, userId, fields, isRecent }
}

type Made = { readonly event: WebhookEvent; readonly channel: Channel }

async function notifyRecipients(deps: NotificationDeps, occurrence: Occurrence): Promise<Made[]> {
  const { event } = occurrence
  // A newer release published this event and will process it.
  if (!isKnownEvent(event)) throw new Error(`unknown event ${event}`)
  const made: Made[] = []
  for (const recipient of await findRecipients(deps.db, event, occurrence)) {
    const content = { ...occurrence, event, ...describeEvent(event, occurrence.fields, recipient) }
    if (recipient.inApp && (await insertNotification(deps.db, recipient.id, content))) {
      made.push({ event, channel: 'inApp' })
    }
    if (deps.mailEnabled && occurrence.isRecent && recipient.email && recipient.address !== null) {
      await queueMail(deps.db, deps.masterKeys, {
        template: 'notification',
        data: { event, title: content.title, body: content.body },
        key: ['notification', event, content.key, content.workspaceId, recipient.id].join(':'),
        to: recipient.address,
        userId: recipient.id,
      })
      made.push({ event, channel: 'email' })
    }
  }
  return made
}

type Recipient = PersonLocale & {
  readonly id: string
  /** Null: not verified, so possibly another person's. */
  readonly address: string | null
  readonly inApp: boolean
  readonly email: boolean
}

/** Current members of the workspace; former members get nothing. */
async function findRecipients(db: Db, event: WebhookEvent, { workspaceId, userId }: Occurrence): Promise<Recipient[]> {
  const rule = eventRules[event]
  if (userId === null && rule.roles.length === 0) return []
  const rows = await db
    .selectFrom('membership as m')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .leftJoin('notification_preference as p', (join) => join.onRef('p.user_id', '=', 'u.id').on('p.event', '=', event))
    .select(['u.id', 'u.email as address', 'u.email_verified_at', 'p.in_app', 'p.email'])
    .select(['u.locale', 'u.time_zone as timeZone'])
    .where('m.workspace_id', '=', workspaceId)
    .where((eb) => (userId === null ? eb('m.role', 'in', rule.roles) : eb('m.user_id', '=', userId)))
    .where('u.disabled_at', 'is', null)
    .where('u.erased_at', 'is', null)
    .execute()
  return rows.map(({ id, address, email_verified_at, in_app, email, locale, timeZone }) => ({
    ...{ id, locale, timeZone },
    address: email_verified_at === null ? null : address,
    inApp: in_app ?? rule.inApp,
    email: !rule.hasOwnMail && (rule.emailRequired || (email ?? rule.email)),
  }))
}

type NotificationContent = Occurrence & { readonly title: string; readonly body: string }

async function insertNotification(tx: Db, userId: string, content: NotificationContent): Promise<boolean> {
  const { message: _, invite_url: __, ...data } = content.fields
  const row = await tx
    .insertInto('notification')
    .values({
      user_id: userId,
      workspace_id: content.workspaceId,
      type: content.event,
      event_key: content.key,
      title: content.title,
      body: content.body,
      data: JSON.stringify(data),
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'workspace_id', 'type', 'event_key']).doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
