// Login attempts by address, whether or not it has an account (D15). An attempt counts as a failure before its password
// is checked, and a correct password takes it back, so parallel guesses count like sequential ones. A reset, a correct
// password or a day without failures clears the count; other client networks are not delayed.
import type { Db } from '@matte/core/db/database'
import { type RawBuilder, sql } from 'kysely'

/** Free failures per account and client network. */
const freeFailures = 4
const waitMax = 900

/** Seconds until this network may try again: 0, 0, 0, 0, 1, 2, 4, … 900. */
export const waitSecondsAfter = (failures: number): number =>
  failures <= freeFailures ? 0 : Math.min(waitMax, 2 ** (failures - freeFailures - 1))

/** Failures of one account from all networks before responses slow down, and before the owner gets a mail. */
const quickFailures = 10
export const warnOwnerAfter = 20
const slowMax = 2_000

/** Minimum response time in milliseconds: 200 more per failure from the 11th on, 2 s from the 20th. */
export const answerMsAfter = (failures: number): number =>
  Math.min(slowMax, Math.max(0, failures - quickFailures) * 200)

type From = { readonly account: Buffer; readonly network: string }

/** `failures`: of the account from all networks, including this attempt. */
type Attempt =
  | { readonly allowed: true; readonly failures: number }
  | { readonly allowed: false; readonly waitSeconds: number }

const forgottenAfterHours = 24

const waits = Array.from({ length: 20 }, (_, index) => waitSecondsAfter(index + 1))

/** Counts an attempt unless the network has to wait. One statement, which locks the row of the pair. */
export async function takeAttempt(db: Db, { account, network }: From): Promise<Attempt> {
  const isOld = sql`f.last_at < now() - ${forgottenAfterHours} * interval '1 hour'`
  const { rows } = await sql<{ failures: number | null; waitSeconds: number | null }>`
    with pair as (
      insert into login_failure as f (account, network, failures, allowed_at, last_at)
      values (${account}, ${network}, 1, now() + ${waits[0]}::int * interval '1 second', now())
      on conflict (account, network) do update set
        failures = case when ${isOld} then 1 else f.failures + 1 end,
        allowed_at = now() + interval '1 second' *
          (${waits}::int[])[least(case when ${isOld} then 1 else f.failures + 1 end, ${waits.length}::int)],
        last_at = now()
      -- Not now(): the statement may have started before the attempt that it waited for.
      where f.allowed_at <= clock_timestamp()
      returning true as taken
    ), whole as (
      insert into login_failure as f (account, network, failures, allowed_at, last_at)
      select ${account}::bytea, '', 1, now(), now() from pair
      on conflict (account, network) do update set
        failures = case when ${isOld} then 1 else f.failures + 1 end,
        told_at = case when ${isOld} then null else f.told_at end,
        last_at = now()
      returning failures
    )
    select (select failures from whole) as failures,
           (select extract(epoch from allowed_at - now())::float8 from login_failure
             where account = ${account} and network = ${network}) as "waitSeconds"`.execute(db)
  const { failures = null, waitSeconds = null } = rows[0] ?? {}
  return failures === null ? { allowed: false, waitSeconds: waitSeconds ?? 1 } : { allowed: true, failures }
}

/** CTEs after `with chosen as (…)` that take an attempt back if `chosen` has a row. Lock order as in `takeAttempt`. */
export const forgettingParts = ({ account, network }: From): RawBuilder<unknown> => sql`pair as (
      delete from login_failure
       where account = ${account} and network = ${network} and exists (select from chosen) returning 1
    ), gone as materialized (select count(*) from pair
    ), forgotten as (
      update login_failure set failures = greatest(failures - 1, 0) from gone
       where account = ${account} and network = '' and exists (select from chosen)
    )`

export async function forgetAttempt(tx: Db, from: From): Promise<void> {
  await sql`with chosen as (select), ${forgettingParts(from)} select`.execute(tx)
}

/** Clears all counters after a password reset; pairs first, for the lock order. */
export async function forgetFailures(tx: Db, account: Buffer): Promise<void> {
  await tx.deleteFrom('login_failure').where('account', '=', account).where('network', '!=', '').execute()
  await tx.deleteFrom('login_failure').where('account', '=', account).where('network', '=', '').execute()
}
