// Which sessions of a person are open, and how many may be.
import { type RawBuilder, sql } from 'kysely'

/** Lifetime of a session in days, regardless of refreshes. */
export const sessionDays = 30

/** Open sessions of a person. */
const sessionsMax = 20

/**
 * Condition on `session`. A session is in use when it is started, refreshed or switched to another workspace. An access
 * token lives for less than the shortest limit, so only refreshes and lists of sessions look at the limit.
 */
export const isInUse = (idleHours: number): RawBuilder<boolean> =>
  sql<boolean>`session.last_used_at > now() - ${idleHours} * interval '1 hour'`

/**
 * CTE that makes room for one session of the user in `chosen`: ends the sessions that have not been used for longest.
 * The caller has locked the person or their second factor in an earlier statement, so this one sees every session of a
 * concurrent login.
 */
export const makingRoom = sql`surplus as (
      update session set ended_at = now() where id in (
        select id from session
         where user_id = (select user_id from chosen) and ended_at is null and expires_at > now()
         order by last_used_at desc, created_at desc, id desc offset ${sql.lit(sessionsMax - 1)})
    )`
