import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Nobody else counts what this names until the transaction ends: of two at once the second counts the first. */
export const lockCount = (tx: Db, what: 'teams' | 'inviter', of: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`matte.${what}.${of}`}, 0))`.execute(tx)
