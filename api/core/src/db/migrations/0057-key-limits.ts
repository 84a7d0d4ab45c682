import { type Kysely, sql } from 'kysely'

// Limits of API keys: the networks that a key may be used from, the longest life that a team allows, and the latest
// addresses of a key. The table has a row per key, so the build of the indexes blocks the note of a last use for less
// than a second with a million keys.
const statements = [
  `alter table workspace add column max_key_days int check (max_key_days between 1 and 3650)`,
  `alter table api_key
     add column allowed_networks text[] not null default '{}' check (cardinality(allowed_networks) <= 20),
     add column recent_addresses jsonb,
     add column addresses_since date,
     add column expiry_notice_at timestamptz`,
  `create index api_key_addresses on api_key (addresses_since) where addresses_since is not null`,
  `create index api_key_expiry on api_key (expires_at)
    where expires_at is not null and revoked_at is null and successor_id is null and expiry_notice_at is null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
