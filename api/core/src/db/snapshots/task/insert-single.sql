prepare insert_single as
  with slot as (
    
update workspace
   set open_singles = open_singles + 1, queued = queued + 1,
     quota_used = case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
  and date_trunc('month', (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end + 1,
       quota_month = case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
  and date_trunc('month',
    (now() + interval '5 minutes') at time zone 'utc')::date) then quota_month else date_trunc('month',
    now() at time zone 'utc')::date end
 where id = $1 and open_singles < $2::int
   and ($3::bigint is null or case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
  and date_trunc('month',
    (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end < $4::bigint)
   
returning id
  ), source as (
    update upload set used_at = coalesce(used_at, now())
     where id = $5 and workspace_id = (select id from slot) and deleted_at is null
    returning id as upload_id
  ), created as (
    insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version,
                      callback_url, output, door, charge, credit_cost, created_by, api_key_id, traceparent,
                      notify_maker, retention_seconds)
    select slot.id, upload_id, $6, $7, $8::bigint,
           $9, $10::text, $11::jsonb,
           $12::jsonb, $13::text,
           $14::int, $15::uuid, $16::uuid,
           $17::text, $18::boolean,
           $19::int
      from slot left join source on true
    returning *
  ), event as (
    insert into task_event (task_id, workspace_id, run, type, payload)
    select id, workspace_id, run, 'queued', jsonb_build_object('run', run) from created
  ), today as materialized (
    select workspace_id, (now() at time zone 'utc')::date as day, model_version, created_by, 1 as "created" from created
  ), usage as (
    insert into usage_day as u (workspace_id, day, "created") select workspace_id, day, "created" from today
    on conflict (workspace_id, day) do update set "created" = "u"."created" + "excluded"."created"
  ), usage_detail as (
    insert into usage_detail as d (workspace_id, day, model_version, user_id, "created")
    select workspace_id, day, model_version, created_by, "created" from today
    on conflict (workspace_id, day, model_version,
      user_id) do update set "created" = "d"."created" + "excluded"."created"
  )
  select created.* from created;
