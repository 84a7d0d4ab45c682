prepare insert_children as
with wanted as (
  select * from unnest($1::uuid[], $2::uuid[],
                       $3::text[],
                       $4::text[],
                       $5::bigint[])
    as w (id, upload_id, source_key, source_etag, source_size_bytes)
), live as (
  update upload set used_at = coalesce(used_at, now())
   where id in (select upload_id from wanted) and workspace_id = $6 and deleted_at is null
  returning id
), created as (
  insert into task (id, workspace_id, batch_id, upload_id, source_key, source_etag, source_size_bytes,
                    model_version, callback_url, output, credit_cost, created_by, api_key_id,
                    traceparent, retention_seconds)
  select w.id, $7::uuid, $8::uuid, w.upload_id, w.source_key, w.source_etag,
         w.source_size_bytes, $9, $10::text,
         $11::jsonb, $12::int,
         $13::uuid, $14::uuid, $15::text,
         $16::int
    from wanted w join live on live.id = w.upload_id
  returning *
), event as (
  insert into task_event (task_id, workspace_id, run, type, payload)
  select id, workspace_id, run, 'queued', jsonb_build_object('run', run) from created order by id
), alike as (
  select workspace_id, model_version, created_by, count(*) as created from created group by 1, 2, 3
), today as materialized (
  select workspace_id, (now() at time zone 'utc')::date as day, model_version, created_by, created as "created"
    from alike
), usage as (
  insert into usage_day as u (workspace_id, day, "created") select workspace_id, day, "created" from today
  on conflict (workspace_id, day) do update set "created" = "u"."created" + "excluded"."created"
), usage_detail as (
  insert into usage_detail as d (workspace_id, day, model_version, user_id, "created")
  select workspace_id, day, model_version, created_by, "created" from today
  on conflict (workspace_id, day, model_version, user_id) do update set "created" = "d"."created" + "excluded"."created"
)
select * from created order by id;
