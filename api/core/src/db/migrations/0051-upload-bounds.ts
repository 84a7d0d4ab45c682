import { type Kysely, sql } from 'kysely'

// Grants an upload unless the workspace's unused ones reach their bounds in number or bytes. Grants of one workspace
// take turns until their commits, so each one counts those before it: the function's second statement takes its
// snapshot after the lock. The lock is not that of the workspace's row, so it delays no creation of a task.
const statements = [
  // The row is the audit record of the grant.
  `alter table upload add column api_key_id uuid, add column created_by uuid`,

  `create function grant_upload(of_workspace uuid, key text, type text, bytes bigint, seconds int, count_max int,
                                bytes_max bigint, maker uuid, key_id uuid)
     returns table (granted_until timestamptz, oldest_at timestamptz) language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(hashtextextended('matte.upload.' || of_workspace, 0));
    return query
    with unused as materialized (
      select u.reserved_bytes, u.created_at from upload u
       where u.workspace_id = of_workspace and u.used_at is null and u.deleted_at is null
       order by u.created_at limit count_max
    ), total as materialized (
      select count(*) as count, coalesce(sum(unused.reserved_bytes), 0) as bytes, min(unused.created_at) as oldest
        from unused
    ), granted as (
      insert into upload (workspace_id, object_key, content_type, reserved_bytes, expires_at, created_by, api_key_id)
      select of_workspace, key, type, grant_upload.bytes, now() + seconds * interval '1 s', maker, key_id
        from total where total.count < count_max and total.bytes + grant_upload.bytes <= bytes_max
      returning upload.expires_at
    )
    select granted.expires_at, total.oldest from total left join granted on true;
  end $$`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
