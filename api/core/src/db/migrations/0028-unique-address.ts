import { type Kysely, sql } from 'kysely'

// Makes address keys unique. Indexes of lower(email) stay for the previous release without uniqueness, because lower()
// may unite addresses with different keys.
const statements = [
  `lock table app_user, team_invite, referral in share row exclusive mode`,

  // Among accounts with one key, the oldest verified one keeps it. `matte-admin user duplicates` lists the others.
  `update app_user set email_key = null where id in (
     select id from (
       select id, row_number() over (partition by email_key order by email_verified_at is null, created_at, id) as rank
         from app_user where email_key is not null) ranked
      where rank > 1)`,
  `create unique index app_user_email_key on app_user (email_key) where email_key is not null`,
  `create index app_user_without_key on app_user (created_at) where email_key is null and erased_at is null`,
  `create index app_user_lower_email on app_user (lower(email)) where erased_at is null`,

  // The newest invitation of a team replaces older ones.
  `update team_invite set ended_at = now(), ending = 'replaced' where id in (
     select id from (
       select id, row_number() over (partition by workspace_id, email_key order by created_at desc, id desc) as rank
         from team_invite where ended_at is null and email_key is not null) ranked
      where rank > 1)`,
  `create unique index team_invite_open_key on team_invite (workspace_id, email_key) where ended_at is null`,
  `create index team_invite_key on team_invite (email_key, created_at)`,
  `create index team_invite_without_key on team_invite (created_at) where email_key is null`,

  // The oldest of repeated referrals to one address stays.
  `delete from referral where id in (
     select id from (
       select id, row_number() over (partition by referrer_id, email_key order by created_at, id) as rank
         from referral where email_key is not null) ranked
      where rank > 1)`,
  `create unique index referral_email_key on referral (referrer_id, email_key) where email_key is not null`,
  `create index referral_key on referral (email_key, invited_at) where email_key is not null`,
  `create index referral_without_key on referral (created_at) where email_key is null and email is not null`,
  `create index referral_lower_email on referral (referrer_id, lower(email)) where email is not null`,

  // Last, because it blocks readers.
  `drop index app_user_email, team_invite_open, referral_email`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
