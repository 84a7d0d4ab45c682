import { type Kysely, sql } from 'kysely'

// The Free threshold becomes 3, below its grant. A stored 10 on Free counts as the former default. The previous release
// uses `low_balance_threshold` only.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      alter table workspace
        add column low_balance_set boolean not null default false,
        add column low_balance_below integer not null generated always as (
          case when plan = 'free' and low_balance_threshold = 10 and not low_balance_set then 3
               else low_balance_threshold end) stored
    `)
    .execute(db)
}
