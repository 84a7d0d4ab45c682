// From what happened to what people are told: each event that waits becomes a notification for each person whom it
// concerns and, if they wish, a mail, in one transaction with the end of its waiting. The same occurrence again makes
// nothing new. Any number of dispatchers may do it at once.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import type { PersonPlace } from '../mail/person-format.ts'
import { queueMail } from '../mail/queue-mail.ts'
import type { MasterKeys } from '../runtime/seal.ts'
import type { WebhookEvent } from '../webhook/events.ts'
import { eventRules, isKnownEvent } from './event-rules.ts'
import { describeEvent } from './event-texts.ts'

type Channel = 'inApp' | 'email'

export type NotificationDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  /** Without a mail server no mail is queued for an event. */
  readonly mailEnabled: boolean
  /** Called for each that was made, after the commit. */
  readonly made?: (event: WebhookEvent, channel: Channel) => void
}

type Occurrence = {
  readonly event: string
  readonly key: string
  readonly workspaceId: string
  /** Null: those in the roles of the event. */
  readonly userId: string | null
  readonly fields: Readonly<Record<string, unknown>>
}

const eventsOfOnePass = 100

/** Events that were published; returns how many are done. */
export async function tellEvents(deps: NotificationDeps, pass: SweepPass): Promise<number> {
  const { db } = deps
  const waiting = await db
    .selectFrom('notification_due')
    .select(sql<string>`id::text`.as('id'))
    .where(sql<boolean>`id <> all(${idsAside(pass)}::bigint[])`)
    .orderBy('notification_due.id')
    .limit(pass.limit ?? eventsOfOnePass)
    .execute()
  return sumEach(waiting, pass, ({ id }) => tellOnce(deps, (tx) => takeEvent(tx, id)))
}

/** Ends of tasks that their makers want to hear of, from the history of tasks; returns how many are done. */
export async function tellEndsOfTasks(deps: NotificationDeps, pass: SweepPass): Promise<number> {
  const { db } = deps
  const waiting = await db
    .selectFrom('task_event')
    .select(sql<string>`id::text`.as('id'))
    .where('for_user', 'is not', null)
    .where(sql<boolean>`id <> all(${idsAside(pass)}::bigint[])`)
    .orderBy('task_event.id')
    .limit(pass.limit ?? eventsOfOnePass)
    .execute()
  return sumEach(waiting, pass, ({ id }) => tellOnce(deps, (tx) => takeEndOfTask(tx, id)))
}

/** `take` ends the waiting of an event, and finds nothing when somebody else has it. */
async function tellOnce(deps: NotificationDeps, take: (tx: Db) => Promise<Taken>): Promise<number> {
  const { taken, made } = await deps.db.transaction().execute(async (tx) => {
    const event = await take(tx)
    if (event === undefined || event === 'outdated') return { taken: event, made: [] }
    return { taken: event, made: await tell({ ...deps, db: tx }, event) }
  })
  for (const { event, channel } of made) deps.made?.(event, channel)
  return taken === undefined ? 0 : 1
}

type Taken = Occurrence | 'outdated' | undefined

async function takeEvent(tx: Db, id: string): Promise<Taken> {
  const { rows } = await sql<Occurrence>`
    delete from notification_due
     where id = (select id from notification_due where id = ${id}::bigint for update skip locked)
    returning event, event_key as "key", workspace_id as "workspaceId", user_id as "userId", fields`.execute(tx)
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
}

/** A failure of a task that has been retried since is no news any more (D33). */
async function takeEndOfTask(tx: Db, id: string): Promise<Taken> {
  const { rows } = await sql<EndOfTask>`
    with waiting as materialized (
      select id, for_user from task_event where id = ${id}::bigint and for_user is not null for update skip locked
    )
    update task_event e set for_user = null
      from waiting, task t
     where e.id = waiting.id and t.id = e.task_id
    returning t.id as "taskId", t.workspace_id as "workspaceId", waiting.for_user as "userId", e.type, e.run,
              t.run = e.run as "isLatest", e.payload`.execute(tx)
  const [end] = rows
  if (end === undefined) return undefined
  if (!end.isLatest) return 'outdated'
  const { taskId, workspaceId, userId, type, run, payload } = end
  const { reason, message } = payload
  const fields = type === 'failed' ? { task_id: taskId, reason, message } : { task_id: taskId }
  return { event: `task.${type}`, key: `${taskId}:${run}`, workspaceId, userId, fields }
}

type Made = { readonly event: WebhookEvent; readonly channel: Channel }

async function tell(deps: NotificationDeps, occurrence: Occurrence): Promise<Made[]> {
  const { event } = occurrence
  // Published by a newer version than this: it waits for one that knows it.
  if (!isKnownEvent(event)) throw new Error(`no rule for the event ${event}`)
  const made: Made[] = []
  for (const recipient of await findRecipients(deps.db, event, occurrence)) {
    const told = { ...occurrence, event, ...describeEvent(event, occurrence.fields, recipient) }
    if (recipient.inApp && (await insertNotification(deps.db, recipient.id, told))) {
      made.push({ event, channel: 'inApp' })
    }
    if (deps.mailEnabled && recipient.email && recipient.address !== null) {
      await queueMail(deps.db, deps.masterKeys, {
        template: 'notification',
        data: { event, title: told.title, body: told.body },
        key: ['notification', event, told.key, told.workspaceId, recipient.id].join(':'),
        to: recipient.address,
        userId: recipient.id,
      })
      made.push({ event, channel: 'email' })
    }
  }
  return made
}

type Recipient = PersonPlace & {
  readonly id: string
  /** Null: not verified, so it may be anybody's. */
  readonly address: string | null
  readonly inApp: boolean
  readonly email: boolean
}

/** Members of the workspace as it is now: who has left it hears of it no more. */
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

type Told = Occurrence & { readonly title: string; readonly body: string }

/** False: it was there already. */
async function insertNotification(tx: Db, userId: string, told: Told): Promise<boolean> {
  const { message: _, invite_url: __, ...data } = told.fields
  const row = await tx
    .insertInto('notification')
    .values({
      user_id: userId,
      workspace_id: told.workspaceId,
      type: told.event,
      event_key: told.key,
      title: told.title,
      body: told.body,
      data: JSON.stringify(data),
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'workspace_id', 'type', 'event_key']).doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
