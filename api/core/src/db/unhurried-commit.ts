import { sql } from 'kysely'

/**
 * In a statement of a transaction: its commit does not wait for the disk, which would take a third of the time of a
 * hash (A121).
 */
export const unhurriedCommit = sql<string>`set_config('synchronous_commit', 'off', true)`
