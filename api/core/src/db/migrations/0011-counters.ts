import { type Kysely, sql } from 'kysely'

// Unbounded counters become bigint: past 2^31 each creation or request count would fail until the counter resets.
const statements = [
  `alter table workspace alter column quota_used type bigint`,
  `alter table usage_day
     alter column created type bigint, alter column succeeded type bigint, alter column failed type bigint,
     alter column canceled type bigint, alter column credits type bigint, alter column api_requests type bigint`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
