prepare take_personal_key as
with lock as materialized (
  select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free
), taken as (
  insert into personal_idempotency_record as r (user_id, method, path, key, body_hash)
  select $2::uuid, $3, $4, $5, $6::bytea from lock where free
  on conflict (user_id, key, method, path) do update set
    body_hash = excluded.body_hash, resource_id = null, status = null, created_at = now()
   where r.created_at <= now() - $7 * interval '1 hour'
  returning 1
)
select free, exists (select from taken) as taken from lock;
