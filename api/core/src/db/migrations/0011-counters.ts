import { type Kysely, sql } from 'kysely'

// Counters without a bound of their own: a plan without a quota, or with a high rate limit, could pass 2^31 within a
// month or a day, and each creation, or each count of requests, would then fail until the counter began again.
const statements = [
  `alter table workspace alter column quota_used type bigint`,
  `alter table usage_day
     alter column created type bigint, alter column succeeded type bigint, alter column failed type bigint,
     alter column canceled type bigint, alter column credits type bigint, alter column api_requests type bigint`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
