prepare cancel_batch_1 as
select * from "batch" where "id" = $1 and "workspace_id" = $2;

prepare cancel_batch_2 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare cancel_batch_3 as
select "id" from "batch" where "id" = $1 for no key update;

prepare cancel_batch_4 as
with canceled as (
  update task set status = 'canceled', completed_at = now()
   where batch_id = $1 and status = 'queued'
  returning id, run, queued_at, completed_at, workspace_id, model_version, created_by
), event as (
  insert into task_event (task_id, workspace_id, run, type, payload)
  select id, $2::uuid, run, 'canceled', jsonb_build_object('run', run) from canceled order by id
), alike as (
  select workspace_id, model_version, created_by, count(*) as canceled from canceled group by 1, 2, 3
), today as materialized (
  select workspace_id, (now() at time zone 'utc')::date as day, model_version, created_by, canceled as "canceled"
    from alike
), usage as (
  insert into usage_day as u (workspace_id, day, "canceled") select workspace_id, day, "canceled" from today
  on conflict (workspace_id, day) do update set "canceled" = "u"."canceled" + "excluded"."canceled"
), usage_detail as (
  insert into usage_detail as d (workspace_id, day, model_version, user_id, "canceled")
  select workspace_id, day, model_version, created_by, "canceled" from today
  on conflict (workspace_id, day, model_version,
    user_id) do update set "canceled" = "d"."canceled" + "excluded"."canceled"
)
select id, run, queued_at, completed_at from canceled order by id;

prepare cancel_batch_5 as
update "workspace" set "queued" = "queued" - $1, "open_singles" = "open_singles" - $2,
  "open_children" = "open_children" - $3 where "id" = $4;

prepare cancel_batch_6 as
with before as materialized (select id, status from batch where id = $1 for no key update)
update batch b
   set "canceled_count" = b."canceled_count" + $2::int,
       status = case when b.succeeded_count + b.failed_count + b.canceled_count + $3::int = b.total_count
                     then 'completed' else b.status end,
       completed_at = case when b.succeeded_count + b.failed_count + b.canceled_count + $4::int = b.total_count
                           then coalesce(b.completed_at, now()) else b.completed_at end
  from before
 where b.id = before.id and b.succeeded_count + b.failed_count + b.canceled_count + $5::int <= b.total_count
returning b.*, (b.status = 'completed' and before.status = 'processing') as "completedNow";

prepare cancel_batch_7 as
with hold as (
  update credit_hold h set state = $1
    from unnest($2::uuid[], $3::int[]) as r (task_id, run)
   where h.task_id = r.task_id and h.run = r.run and h.state = 'open'
  returning h.task_id, h.run, h.lot_id, h.amount, h.held_at
), part as materialized (
  select lot_id, sum(amount) as amount, min(held_at) as held_at from hold group by lot_id
), before as materialized (
  select l.id, part.amount, part.held_at < l.expires_at and l.expires_at <= (select statement_timestamp()) as late,
         case when greatest(l.expires_at,
           l.grace_until) <= (select statement_timestamp()) then l.available else 0 end as lapsed
    from part join credit_lot l on l.id = part.lot_id
     for update of l
), lot as (
  update credit_lot l
     set held = l.held - before.amount, available = l.available + before.amount - before.lapsed,
         expired = l.expired + before.lapsed,
         grace_until = case when before.late then (select statement_timestamp()) + $4 * interval '1 hour'
                            else l.grace_until end
    from before where l.id = before.id
  returning l.id, l.workspace_id, l.available, before.amount, before.lapsed
), entry as (
  insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
  
  select workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available
    from (select lot.workspace_id, lot.id as lot_id, hold.task_id, hold.run, 'held' as from_account,
                 'available' as to_account, hold.amount,
                 lot.available + lot.lapsed - lot.amount + sum(hold.amount) over w as lot_available,
                 row_number() over w as n
            from hold join lot on lot.id = hold.lot_id
          window w as (partition by lot.id order by hold.task_id, hold.run)
          union all
          select workspace_id, id, null, null, 'available', 'expired', lapsed, available, null
            from lot where lapsed > 0) e
   order by n nulls last
), given_back as (
  update member_credit_month m set used = greatest(m.used - r.amount, 0)
    from (select lot.workspace_id, t.created_by, date_trunc('month', hold.held_at at time zone 'utc')::date as month,
                 sum(hold.amount) as amount
            from hold join lot on lot.id = hold.lot_id join task t on t.id = hold.task_id
           where t.created_by is not null
           group by 1, 2, 3) r
   where m.workspace_id = r.workspace_id and m.user_id = r.created_by and m.month = r.month
), low as (
  insert into credit_low_balance (workspace_id)
  select w.id from workspace w
   where w.id = (select workspace_id from lot where lapsed > 0 limit 1) and w.low_balance_armed
     and exists (select from "lot" l where l.available < w.low_balance_below)
  on conflict do nothing
) select coalesce(sum(amount), 0) as amount from hold;

prepare cancel_batch_8 as
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

prepare cancel_batch_9 as
select "id", "batch_id", "status", "model_version", "source_key", "callback_url", "credit_cost", "retry_count",
  "started_at", "completed_at", "failure_reason", "failure_message", "result_key", "result_format", "width", "height",
  "foreground", "confidence", "charge", "retention_seconds", "erased_at", "created_at" from "task" where "batch_id" = $1
  order by "id";
