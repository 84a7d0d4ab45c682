// Mails that a stranger can have sent to an address, counted by the address, whoever asks (A108): of each kind some at
// once, and then one at a time. Whether an account has the address changes nothing, so that the count tells nobody.
import { sql } from 'kysely'
import { hashAddress } from '../address.ts'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'

/**
 * `asked`: links that a caller without a session asks for. `noted`: notes that an address has an account. `invited`:
 * mails that a signed-in caller causes. None takes the room of another, so notes and invitations never delay a reset.
 */
type Kind = 'asked' | 'noted' | 'invited'

/** So many at once, and then one in so many minutes. */
const rooms: Readonly<Record<Kind, { readonly burst: number; readonly everyMinutes: number }>> = {
  // Whoever floods an address still leaves its owner a link an hour.
  asked: { burst: 5, everyMinutes: 60 },
  noted: { burst: 1, everyMinutes: 60 },
  invited: { burst: 5, everyMinutes: 5 * 60 },
}

/** False: the address has had enough of them. */
export function takeMailRoom(tx: Db, kind: Kind, email: string): Promise<boolean> {
  const { burst, everyMinutes } = rooms[kind]
  return take(tx, { address: hashAddress(email), kind, burst, everySeconds: everyMinutes * 60 })
}

const allAddresses = Buffer.alloc(32)

/** Mails that verify an address, to all addresses together. False: a minute's share was sent. 0: no bound. */
export async function takeVerificationRoom(tx: Db, perMinute: number): Promise<boolean> {
  if (perMinute === 0) return true
  return take(tx, { address: allAddresses, kind: 'verifying', burst: perMinute, everySeconds: 60 / perMinute })
}

type Room = {
  readonly address: Buffer
  readonly kind: Kind | 'verifying'
  readonly burst: number
  readonly everySeconds: number
}

/** The last row to be locked, that of all addresses after that of one: nothing waits for another while it has it. */
async function take(tx: Db, { address, kind, burst, everySeconds }: Room): Promise<boolean> {
  const every = sql`${everySeconds}::float8 * interval '1 second'`
  // Not the transaction's time: it may have begun before the mail that it waited for.
  const { rows } = await sql`
    insert into mail_room as r (address, kind, spent_until)
    values (${address}, ${kind}, clock_timestamp() + ${every})
    on conflict (address, kind) do update
       set spent_until = greatest(r.spent_until, clock_timestamp()) + ${every}
     where r.spent_until <= clock_timestamp() + ${burst - 1} * ${every}
    returning true as taken`.execute(tx)
  return rows.length > 0
}

/** @throws MatteError RATE_LIMIT_EXCEEDED: to whoever is signed in; those who are not are told nothing */
export async function requireMailRoom(tx: Db, email: string): Promise<void> {
  if (await takeMailRoom(tx, 'invited', email)) return
  throw new MatteError('RATE_LIMIT_EXCEEDED', 'Too many mails were sent to this address; try again later.', {
    details: { limit: 'address' },
    retryAfterSeconds: 3_600,
  })
}
