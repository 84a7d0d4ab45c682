import type { Db } from '@matte/core/db/database'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '@matte/core/db/page'
import type { LoginEventTable } from '@matte/core/db/tables/account'
import { sql } from 'kysely'
import { cutUserAgent, type SignInClient } from './start-session.ts'

type FailedLogin = {
  readonly userId: string | null
  readonly method: LoginEventTable['method']
  readonly failureReason: string
  readonly client: SignInClient
}

/** Inserts a failed login into the history; returns its id. `startSession` inserts successful ones. */
export async function insertFailedLogin(tx: Db, failed: FailedLogin): Promise<string> {
  const { userId, method, failureReason, client } = failed
  const { id } = await tx
    .insertInto('login_event')
    .values({
      user_id: userId,
      success: false,
      method,
      ip_address: client.ipAddress,
      user_agent: cutUserAgent(client),
      failure_reason: failureReason,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

const ofPerson = (db: Db, userId: string) => db.selectFrom('login_event').where('user_id', '=', userId)

export function listLoginEvents(db: Db, userId: string, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return ofPerson(db, userId)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(at, id) < (${at}, ${after?.id}::uuid)`))
    .select(['id', 'at', 'success', 'method', 'ip_address', 'user_agent', 'failure_reason'])
    .select(sql<string>`(extract(epoch from at) * 1000000)::bigint::text`.as('at_micros'))
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export type LoginEventRow = Awaited<ReturnType<typeof listLoginEvents>>[number]

export function countLoginEvents(db: Db, userId: string): Promise<ListTotal> {
  return countRows(db, ofPerson(db, userId).select('id'))
}
