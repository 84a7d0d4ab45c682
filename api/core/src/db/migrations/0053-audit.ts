import { type Kysely, sql } from 'kysely'

const statements = [
  // Rows of the previous release, which runs beside this one, leave the new columns null.
  `alter table audit_entry
    add column actor text,
    add column api_key_id uuid,
    add column user_agent text,
    add column client_request_id text,
    add constraint audit_entry_actor
      check (actor in ('member', 'api-key', 'operator', 'matte-admin', 'system')) not valid,
    add constraint audit_entry_lengths check (length(user_agent) <= 512 and length(client_request_id) <= 128) not valid`,

  // Only the erasure of a person changes an entry: it empties the address and the user agent. The check waits for the
  // end of the transaction, because the previous release empties them before it marks the account.
  `create function audit_entry_only_erased() returns trigger language plpgsql as $$
  begin
    if (to_jsonb(new) - 'ip_address' - 'user_agent') is distinct from (to_jsonb(old) - 'ip_address' - 'user_agent')
       or new.ip_address is not null or (new.user_agent is not null and new.user_agent is distinct from old.user_agent)
       or not exists (select from app_user where id = new.user_id and erased_at is not null) then
      raise exception 'an entry of the audit log cannot be changed' using errcode = 'insufficient_privilege';
    end if;
    return null;
  end $$`,
  `create constraint trigger audit_entry_only_erased after update on audit_entry deferrable initially deferred
     for each row execute function audit_entry_only_erased()`,

  // Grants are only ever added after a migration (apply-roles.ts), so the API's rights of the previous release end
  // here. Those that table-rights.ts still lists are granted again.
  `do $$
  declare api text := current_database() || '_api';
  begin
    if exists (select from pg_roles where rolname = api) then
      execute format('revoke update, delete on audit_entry from %I', api);
    end if;
  end $$`,

  // The rows of tasks and batches are the audit record of their creation, as those of uploads are (0051).
  `alter table task add column api_key_id uuid`,
  `alter table batch add column api_key_id uuid`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
