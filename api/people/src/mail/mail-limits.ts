// Rate limits of mails per address (A108): a burst, then one per interval, whether or not the address has an account.
import { hashAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { sql } from 'kysely'

/** `asked`: links, without a session. `noted`: "you have an account". `invited`: caused by a signed-in user. */
type Kind = 'asked' | 'noted' | 'invited'

/** `burst` mails at once, then one every `everyMinutes`. */
const rooms: Readonly<Record<Kind, { readonly burst: number; readonly everyMinutes: number }>> = {
  // Under a flood, the owner still gets a link an hour.
  asked: { burst: 5, everyMinutes: 60 },
  noted: { burst: 1, everyMinutes: 60 },
  invited: { burst: 5, everyMinutes: 5 * 60 },
}

export function allowMail(tx: Db, kind: Kind, email: string): Promise<boolean> {
  const { burst, everyMinutes } = rooms[kind]
  return take(tx, { address: hashAddress(email), kind, burst, everySeconds: everyMinutes * 60 })
}

const allAddresses = Buffer.alloc(32)

/** Limits verification mails to all addresses together. Returns false if the limit is reached; 0: unlimited. */
export async function allowVerificationMail(tx: Db, perMinute: number): Promise<boolean> {
  if (perMinute === 0) return true
  return take(tx, { address: allAddresses, kind: 'verifying', burst: perMinute, everySeconds: 60 / perMinute })
}

type Limit = {
  readonly address: Buffer
  readonly kind: Kind | 'verifying'
  readonly burst: number
  readonly everySeconds: number
}

/** Locks the rate limit's row last, so no transaction waits for another lock while it holds this one. */
async function take(tx: Db, { address, kind, burst, everySeconds }: Limit): Promise<boolean> {
  const every = sql`${everySeconds}::float8 * interval '1 second'`
  // Not now(): the transaction may have started before the mail that it waited for.
  const { rows } = await sql`
    insert into mail_room as r (address, kind, spent_until)
    values (${address}, ${kind}, clock_timestamp() + ${every})
    on conflict (address, kind) do update
       set spent_until = greatest(r.spent_until, clock_timestamp()) + ${every}
     where r.spent_until <= clock_timestamp() + ${burst - 1} * ${every}
    returning true as taken`.execute(tx)
  return rows.length > 0
}

/** @throws MatteError RATE_LIMIT_EXCEEDED; only for signed-in callers, who may learn of the limit */
export async function requireMailAllowed(tx: Db, email: string): Promise<void> {
  if (await allowMail(tx, 'invited', email)) return
  throw new MatteError('RATE_LIMIT_EXCEEDED', 'Too many mails were sent to this address. Try again later.', {
    details: { limit: 'address' },
    retryAfterSeconds: 3_600,
  })
}
