import { type Kysely, sql } from 'kysely'

// Addresses are compared by a key that the application computes (D85); 0027-address-keys.ts fills the columns. The
// release before writes an address without a key: then a trigger removes the key of the former address, and
// `key-addresses.ts` adds the new one.
const statements = [
  ...['app_user', 'team_invite', 'referral', 'account_request'].map(
    (table) => `alter table ${table} add column email_key text`,
  ),
  `alter table mail add column to_key text`,
  // The column has the key, and the database's lower() may differ from it.
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
