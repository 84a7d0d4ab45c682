prepare succeed_child_1 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare succeed_child_2 as
with before as materialized (select id, status from batch where id = $1 for no key update)
update batch b
   set "succeeded_count" = b."succeeded_count" + $2::int,
       status = case when b.succeeded_count + b.failed_count + b.canceled_count + $3::int = b.total_count
                     then 'completed' else b.status end,
       completed_at = case when b.succeeded_count + b.failed_count + b.canceled_count + $4::int = b.total_count
                           then coalesce(b.completed_at, now()) else b.completed_at end
  from before
 where b.id = before.id and b.succeeded_count + b.failed_count + b.canceled_count + $5::int <= b.total_count
returning b.*, (b.status = 'completed' and before.status = 'processing') as "completedNow";

prepare succeed_child_3 as
with slot as materialized (
  select id, plan, waiting
    from workspace where id = $1 and "open_children" > 0 and "processing" > 0 for no key update
), moved as (
  update task set status = $2, completed_at = now(), claim = null, claimed_until = null, width = $3::int,
    height = $4::int, result_key = $5, result_format = $6,
         result_size_bytes = $7, foreground = $8::jsonb,
         confidence = $9::double precision,
         charge = case when $10::boolean then 'none' else charge end
   where id = $11 and status = $12 and (run = $13 and claim = $14) and exists (select from slot)
  returning *
), freed as materialized (
  select count_tasks(workspace_id, $15::int, $16::int, $17::int, $18::int) as done
    from moved
), moment as materialized (
  -- Not the statement's time: the statement may have waited for a lock past a lot's expiry.
  select clock_timestamp() as at from moved
), hold as (
  update credit_hold h set state = $19
    from (select id as task_id, run from moved) as r (task_id, run)
   where h.task_id = r.task_id and h.run = r.run and h.state = 'open'
  returning h.task_id, h.run, h.lot_id, h.amount, h.held_at
), part as materialized (
  select lot_id, sum(amount) as amount, min(held_at) as held_at from hold group by lot_id
), lot as (
  update credit_lot l set held = l.held - part.amount, spent = l.spent + part.amount
    from part where l.id = part.lot_id
  returning l.id, l.workspace_id, l.available
), entry as (
  insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
  select lot.workspace_id, lot.id, hold.task_id, hold.run, 'held', 'spent', hold.amount, lot.available
    from hold join lot on lot.id = hold.lot_id
), event as (
  insert into task_event (task_id, workspace_id, run, type, payload, for_user)
  select id, workspace_id, run, type, jsonb_build_object('run', run)
         || case when attempt > 0 then jsonb_build_object('attempt', attempt) else '{}' end || $20::jsonb
         || case when n = 1 then $21::jsonb else '{}' end,
         -- Children of a batch are not notified one by one.
         case when notify_maker and batch_id is null and type in ('succeeded', 'failed') then created_by end
    from moved, unnest($22::text[]) with ordinality as e (type, n)
   order by n
), today as materialized (
  select workspace_id, (now() at time zone 'utc')::date as day, model_version, created_by, 1 as "succeeded",
    (select coalesce(sum(amount), 0) from hold) as "credits", (extract(epoch
    from completed_at - created_at) * 1000)::bigint as "latency_ms" from moved
), usage as (
  insert into usage_day as u (workspace_id, day, "succeeded", "credits", "latency_ms") select workspace_id, day,
    "succeeded", "credits", "latency_ms" from today
  on conflict (workspace_id, day) do update set "succeeded" = "u"."succeeded" + "excluded"."succeeded",
    "credits" = "u"."credits" + "excluded"."credits", "latency_ms" = "u"."latency_ms" + "excluded"."latency_ms"
), usage_detail as (
  insert into usage_detail as d (workspace_id, day, model_version, user_id, "succeeded", "credits", "latency_ms")
  select workspace_id, day, model_version, created_by, "succeeded", "credits", "latency_ms" from today
  on conflict (workspace_id, day, model_version,
    user_id) do update set "succeeded" = "d"."succeeded" + "excluded"."succeeded",
    "credits" = "d"."credits" + "excluded"."credits", "latency_ms" = "d"."latency_ms" + "excluded"."latency_ms"
), streamed as (
insert into streamed_event (workspace_id, event, event_key, body)
select workspace_id, $23::text, $24::text, $25::text from webhook_stream
 where workspace_id = $26::uuid and kept_until > now() and exists (select from moved)
on conflict do nothing), delivery as (
with live as (
  select id, target_href, target_host, created_at,
         case status when 'enabled' then 'pending' else 'paused' end as status,
         cardinality(event_types) = 0 or $27 = any(event_types)
           or $28 = any(event_types) as subscribed
    from webhook_endpoint
   where workspace_id = $29 and deleted_at is null and exists (select from moved)
), same as (
  -- Prefers a subscribed endpoint, so the target gets the event once.
  select id from live where target_href = $30::text and status = 'pending'
   order by subscribed desc, created_at, id limit 1
), target (id, target_url, target_host, status) as (
  select id, target_href, target_host, status from live
   where id in (select id from same)
      or subscribed and (status = 'pending' or target_href is distinct from $31::text)
  union all
  select null, $32::text, $33::text, 'pending'
   where $34::text is not null and not exists (select from same) and exists (select from moved)
)
insert into delivery (workspace_id, task_id, run, batch_id, event_key, event, endpoint_id, target_url, target_host,
                      body, traceparent, status, completed_at)
select $35::uuid, $36::uuid, $37::int,
       $38::uuid, $39::text, $40, id, target_url, target_host,
       $41, $42::text, status,
       case status when 'paused' then now() end
  from target
on conflict do nothing returning id)
select *, (select count(*) from delivery) as deliveries, (select plan from slot) as plan,
       (select waiting from slot) as "othersWait", (select coalesce(sum(amount), 0) from hold) as credits
  from moved
 where (select done from freed);

prepare succeed_child_4 as
with streamed as (
insert into streamed_event (workspace_id, event, event_key, body)
select workspace_id, $1::text, $2::text, $3::text from webhook_stream
 where workspace_id = $4::uuid and kept_until > now() and true
on conflict do nothing), delivery as (
with live as (
  select id, target_href, target_host, created_at,
         case status when 'enabled' then 'pending' else 'paused' end as status,
         cardinality(event_types) = 0 or $5 = any(event_types)
           or $6 = any(event_types) as subscribed
    from webhook_endpoint
   where workspace_id = $7 and deleted_at is null and true
), same as (
  -- Prefers a subscribed endpoint, so the target gets the event once.
  select id from live where target_href = $8::text and status = 'pending'
   order by subscribed desc, created_at, id limit 1
), target (id, target_url, target_host, status) as (
  select id, target_href, target_host, status from live
   where id in (select id from same)
      or subscribed and (status = 'pending' or target_href is distinct from $9::text)
  union all
  select null, $10::text, $11::text, 'pending'
   where $12::text is not null and not exists (select from same) and true
)
insert into delivery (workspace_id, task_id, run, batch_id, event_key, event, endpoint_id, target_url, target_host,
                      body, traceparent, status, completed_at)
select $13::uuid, $14::uuid, $15::int,
       $16::uuid, $17::text, $18, id, target_url, target_host,
       $19, $20::text, status,
       case status when 'paused' then now() end
  from target
on conflict do nothing)
select;
