// Deletes objects listed in `object_deletion`, whose rows are deleted. Taking an entry moves its due time, so sweepers
// share the work without a transaction around the store. The entry is deleted last; a crash only repeats the object's
// deletion.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'
import type { Bucket } from '../storage/bucket.ts'
import { StorageError } from '../storage/storage-error.ts'
import { timeOf } from './release-uploads.ts'

/** Due again after a failed or unfinished attempt. Deleting an object twice is harmless. */
const againAfterSeconds = 30
/** Concurrent requests to the store; leaves capacity for uploads. */
const atOnce = 8
const listsMax = 10

/**
 * Deletes due objects and their entries; returns the number of entries. A key ending in a slash is a prefix. Failed
 * entries become due again.
 * @throws StorageError if every request fails: the store is down
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
    await forgetObjects(db, gone, pass)
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
  throw new StorageError('unavailable', `the store still lists objects below ${prefix}`)
}

export async function takeDueObjects(db: Db, { now, limit = 200 }: SweepPass = {}): Promise<string[]> {
  const at = timeOf(now)
  const { rows } = await sql<{ key: string }>`
    with due as materialized (
      select object_key from object_deletion where due_at <= ${at}
       order by due_at limit ${limit} for update skip locked
    )
    update object_deletion set due_at = ${at} + ${againAfterSeconds} * interval '1 second'
     where object_key in (select object_key from due)
    returning object_key as key`.execute(db)
  return rows.map((row) => row.key)
}

/**
 * Deletes the entries, or makes them due for their second deletion. The row of an upload goes too, or loses the file
 * name while erased tasks refer to it.
 */
export async function forgetObjects(db: Db, keys: readonly string[], { now }: SweepPass = {}): Promise<void> {
  const at = timeOf(now)
  await sql`
    with again as (
      update object_deletion set due_at = again_at, again_at = null
       where object_key = any(${keys}::text[]) and again_at > ${at}
    ), line as (
      delete from object_deletion
       where object_key = any(${keys}::text[]) and (again_at is null or again_at <= ${at})
      returning object_key
    ), gone as (
      select u.id, exists (select from task where upload_id = u.id) as referred from upload u
       where u.object_key in (select object_key from line) and u.deleted_at is not null
    ), unnamed as (
      update upload set object_key = regexp_replace(object_key, '^(.*/[0-9a-f-]{36})-[^/]*$', '\\1')
       where id in (select id from gone where referred)
    )
    delete from upload where id in (select id from gone where not referred)`.execute(db)
}
