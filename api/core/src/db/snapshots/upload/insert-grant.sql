prepare insert_grant as
with unused as materialized (
  select reserved_bytes, created_at from upload
   where workspace_id = $1 and used_at is null and deleted_at is null
   order by created_at limit $2
), total as materialized (
  select count(*) as count, coalesce(sum(reserved_bytes), 0) as bytes, min(created_at) as oldest_at from unused
), granted as (
  insert into upload (workspace_id, object_key, content_type, reserved_bytes, expires_at)
  select $3::uuid, $4::text, $5::text, $6::bigint,
         now() + $7 * interval '1 s'
    from total where count < $8 and bytes + $9::bigint <= $10::bigint
  returning expires_at
)
select expires_at as "expiresAt", oldest_at as "oldestAt" from total left join granted on true;
