// Reads audit logs from the oldest entry on, for copies elsewhere.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { changeColumns } from './audit-log.ts'

type Span = {
  /** Undefined: all logs, also entries of no workspace. */
  readonly workspaceId?: string | undefined
  readonly from?: Date | undefined
  /** Exclusive. Undefined: `settleSeconds` ago. */
  readonly before?: Date | undefined
}

type Position = { readonly atMicros: string; readonly id: string }

/**
 * Seconds until entries are exported by default. An entry has the time at which it was written, and its transaction may
 * be committed after that of a later entry; a reader that continues after the last entry would miss it.
 */
const settleSeconds = 60

const pageRows = 500

/** Pages of a whole span. */
export async function* exportChanges(db: Db, span: Span): AsyncIterable<Awaited<ReturnType<typeof readChanges>>> {
  const before = span.before ?? (await settled(db))
  for (let after: Position | undefined; ; ) {
    const page = await readChanges(db, { ...span, before }, { after, limit: pageRows })
    yield page
    after = page.at(-1)
    if (page.length < pageRows) return
  }
}

/** Entries that no open transaction can precede; by PostgreSQL's clock, as the times of entries are. */
async function settled(db: Db): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`select now() - ${settleSeconds} * interval '1 second' as at`.execute(db)
  return (rows[0] as { at: Date }).at
}

type Part = { readonly after: Position | undefined; readonly limit: number }

export async function readChanges(db: Db, { workspaceId, from, before }: Span, { after, limit }: Part) {
  const end = before ?? (await settled(db))
  const at = sql<Date>`to_timestamp(0) + ${after?.atMicros ?? '0'}::bigint * interval '1 microsecond'`
  return changeColumns(db.selectFrom('audit_entry as e'))
    .select('e.workspace_id as workspaceId')
    .where('e.at', '<', end)
    .$if(workspaceId !== undefined, (query) => query.where('e.workspace_id', '=', workspaceId as string))
    .$if(from !== undefined, (query) => query.where('e.at', '>=', from as Date))
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(e.at, e.id) > (${at}, ${after?.id}::uuid)`))
    .orderBy('e.at')
    .orderBy('e.id')
    .limit(limit)
    .execute()
}

/** Position of an entry in its log; undefined if the log has no such entry. */
export function findPosition(db: Db, workspaceId: string, id: string): Promise<Position | undefined> {
  return db
    .selectFrom('audit_entry as e')
    .select(['e.id', sql<string>`(extract(epoch from e.at) * 1000000)::bigint::text`.as('atMicros')])
    .where('e.id', '=', id)
    .where('e.workspace_id', '=', workspaceId)
    .executeTakeFirst()
}
