prepare release_unused_uploads as
with old as materialized (
  select id from upload where (used_at is null and deleted_at is null) and created_at <= now() - $1 * interval '1 hour'
   order by created_at limit $2 for update skip locked
), released as (
  update upload set deleted_at = now() where id in (select id from old) and (used_at is null and deleted_at is null)
  returning object_key
), line as (
  insert into object_deletion (object_key, due_at) select object_key, now() from released
  on conflict (object_key) do update set due_at = excluded.due_at
)
select object_key as "objectKey" from released;
