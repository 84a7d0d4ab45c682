// The second half of a deletion: rows went with a line in `object_deletion`, and here the objects follow. Taking a
// line moves its time on, so that two sweepers share the work without a transaction that waits for the store; the
// line goes after the object. Whatever dies between the steps, the object's deletion is repeated, which is harmless.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'
import type { Bucket } from '../storage/bucket.ts'
import { StorageError } from '../storage/storage-error.ts'
import { timeOf } from './release-uploads.ts'

/** When a line is due again that somebody took and did not finish: far above the store's own time-outs. */
const againAfterMinutes = 10
/** Requests to the store at once: enough to be fast, too few to be felt beside uploads. */
const atOnce = 8
/** Lists of a prefix, a thousand keys each; a task has a handful. It bounds a store that lists what is deleted. */
const listsMax = 10

/**
 * Deletes objects that are due, and then the last traces of their rows; returns how many lines. A key that ends with a
 * slash means all that is below it. What the store refuses is due again later.
 * @throws StorageError when it refuses all of those that were asked for at once: it is taken for down.
 */
export async function deleteDueObjects(
  db: Db,
  bucket: Pick<Bucket, 'delete' | 'list'>,
  pass: SweepPass = {},
): Promise<number> {
  const { aside, signal } = pass
  const keys = await takeDueObjects(db, pass)
  let done = 0
  for (let first = 0; first < keys.length && !signal?.aborted; first += atOnce) {
    const part = keys.slice(first, first + atOnce)
    const results = await Promise.allSettled(
      part.map((key) => (key.endsWith('/') ? deleteBelow(bucket, key, signal) : bucket.delete(key, signal))),
    )
    const gone = part.filter((_, index) => results[index]?.status === 'fulfilled')
    await forgetObjects(db, gone)
    done += gone.length
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') continue
      if (aside === undefined || gone.length === 0) throw result.reason
      aside.set(part[index] ?? '', result.reason)
    }
  }
  return done
}

async function deleteBelow(bucket: Pick<Bucket, 'delete' | 'list'>, prefix: string, signal: SweepPass['signal']) {
  for (let lists = 0; lists < listsMax; lists++) {
    const keys = await bucket.list(prefix, signal)
    if (keys.length === 0) return
    for (const key of keys) await bucket.delete(key, signal)
  }
  throw new StorageError('unavailable', `the store goes on listing objects below ${prefix}`)
}

/** The keys of objects to delete, for this caller alone until they are due again. */
export async function takeDueObjects(db: Db, { now, limit = 500 }: SweepPass = {}): Promise<string[]> {
  const at = timeOf(now)
  const { rows } = await sql<{ key: string }>`
    with due as materialized (
      select object_key from object_deletion where due_at <= ${at}
       order by due_at limit ${limit} for update skip locked
    )
    update object_deletion set due_at = ${at} + ${againAfterMinutes} * interval '1 minute'
     where object_key in (select object_key from due)
    returning object_key as key`.execute(db)
  return rows.map((row) => row.key)
}

/** After the objects are gone: their lines, and the uploads that they belonged to. */
export async function forgetObjects(db: Db, keys: readonly string[]): Promise<void> {
  await sql`
    with line as (delete from object_deletion where object_key = any(${keys}::text[]))
    delete from upload where object_key = any(${keys}::text[]) and deleted_at is not null`.execute(db)
}
