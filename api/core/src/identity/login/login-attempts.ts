// Attempts to log in, counted by the address that was given, whether an account has it or not (D15). An attempt counts
// as a failure before its password is judged, and the right one takes that back: so a hundred guesses sent at once are
// judged no more than a hundred sent one after the other.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { waitSecondsAfter } from './delay.ts'

type From = { readonly account: Buffer; readonly network: string }

/** `failures` of the account from all networks, this attempt among them. */
type Attempt =
  | { readonly allowed: true; readonly failures: number }
  | { readonly allowed: false; readonly waitSeconds: number }

/** Failures are forgotten so many hours after the last. */
const forgottenAfterHours = 24

/** The wait after the n-th failure; the last is the longest. */
const waits = Array.from({ length: 20 }, (_, index) => waitSecondsAfter(index + 1))

/**
 * Counts an attempt, unless the network has to wait. One statement, which locks the row of the pair.
 */
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
      -- Not the statement's time: it may have begun before the attempt that it waited for.
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

/**
 * Parts of a statement `with chosen as (…)`. After the right password: the network's failures are forgotten, and this
 * attempt was none of the account's. The pair comes first, as in `takeAttempt`, which may hold it and wait for the
 * other row. Nothing is done where `chosen` has no row.
 */
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

/** After a reset of the password: all of it, the pairs first. */
export async function forgetFailures(tx: Db, account: Buffer): Promise<void> {
  await tx.deleteFrom('login_failure').where('account', '=', account).where('network', '!=', '').execute()
  await tx.deleteFrom('login_failure').where('account', '=', account).where('network', '=', '').execute()
}
