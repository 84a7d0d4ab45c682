import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { countRows, type ListTotal, type PageRequest } from '../../db/page.ts'

const ofPerson = (db: Db, userId: string) => db.selectFrom('login_event').where('user_id', '=', userId)

/** One page of somebody's login history, newest first. */
export function listLoginEvents(db: Db, userId: string, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return ofPerson(db, userId)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(at, id) < (${at}, ${after?.id}::uuid)`))
    .select(['id', 'at', 'success', 'method', 'ip_address', 'user_agent', 'failure_reason'])
    .select(sql<string>`(extract(epoch from at) * 1000000)::bigint::text`.as('at_micros'))
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(after === undefined ? offset : 0)
    .execute()
}

export type LoginEventRow = Awaited<ReturnType<typeof listLoginEvents>>[number]

export function countLoginEvents(db: Db, userId: string): Promise<ListTotal> {
  return countRows(db, ofPerson(db, userId).select('id'))
}
