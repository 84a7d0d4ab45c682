// Schedules objects for deletion in the transaction that gives them up, so a crash loses none. Afterwards only the
// sweep touches the store (delete-objects.ts).
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { timeOf } from './release-uploads.ts'

/**
 * An object deleted at once may still be written: a preview that is being made, the result of a worker that lost its
 * claim, a repeated upload. It is therefore deleted again after the slowest of them.
 */
const lateWriteSeconds = 45
/** The longest that a PUT may take which began before the end of its URL. */
const putMinutes = 5

export type Doomed = {
  /** A prefix if it ends in a slash. */
  readonly key: string
  /** 0: at once. */
  readonly inDays: number
  /** End of the URL by which callers write it. */
  readonly writableUntil?: Date | undefined
}

export async function scheduleDeletions(tx: Db, doomed: readonly Doomed[], now?: Date): Promise<void> {
  if (doomed.length === 0) return
  const at = timeOf(now)
  await sql`
    insert into object_deletion (object_key, due_at, again_at)
    select key, ${at} + days * interval '1 day',
           case when days = 0 then greatest(${at}, writable_until + ${putMinutes} * interval '1 minute') + ${lateWriteSeconds} * interval '1 second' end
      from unnest(${doomed.map(({ key }) => key)}::text[], ${doomed.map(({ inDays }) => inDays)}::int[],
                  ${doomed.map(({ writableUntil = null }) => writableUntil)}::timestamptz[])
        as d (key, days, writable_until)
    on conflict (object_key) do update
      set due_at = least(object_deletion.due_at, excluded.due_at),
          again_at = greatest(object_deletion.again_at, excluded.again_at)`.execute(tx)
}
