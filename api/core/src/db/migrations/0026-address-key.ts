import { type Kysely, sql } from 'kysely'

// Columns for address keys, computed by the application and filled by 0027-address-keys.ts. If the previous
// release changes an address, a trigger removes the key and address-keys.ts restores it.
const statements = [
  ...['app_user', 'team_invite', 'referral', 'account_request'].map(
    (table) => `alter table ${table} add column email_key text`,
  ),
  `alter table mail add column to_key text`,
  // The database's lower() may differ from the key.
  `alter table registration_invite drop constraint registration_invite_email_check,
     add constraint registration_invite_key check (length(email) >= 3)`,

  `create function drop_stale_email_key() returns trigger language plpgsql as $$
   begin
     if new.email is distinct from old.email and new.email_key is not distinct from old.email_key then
       new.email_key := null;
     end if;
     return new;
   end $$`,
  `create trigger app_user_email_key before update of email on app_user
     for each row execute function drop_stale_email_key()`,
  `create trigger referral_email_key before update of email on referral
     for each row execute function drop_stale_email_key()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
