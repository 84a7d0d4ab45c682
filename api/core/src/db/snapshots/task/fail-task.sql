prepare fail_task as
with slot as materialized (
  select id, plan, waiting
    from workspace where id = $1 and "open_singles" > 0 and "processing" > 0 for no key update
), moved as (
  update task set status = $2, completed_at = now(), claim = null, claimed_until = null, width = $3::int,
    height = $4::int, failure_reason = $5, failure_message = $6,
           dead_letter = $7
   where id = $8 and status = $9 and (run = $10 and claim = $11) and exists (select from slot)
  returning *
), freed as materialized (
  select count_tasks(workspace_id, $12::int, $13::int, $14::int, $15::int) as done
    from moved
), moment as materialized (
  -- Not the statement's time: the statement may have waited for a lock past a lot's expiry.
  select clock_timestamp() as at from moved
), hold as (
  update credit_hold h set state = $16
    from (select id as task_id, run from moved) as r (task_id, run)
   where h.task_id = r.task_id and h.run = r.run and h.state = 'open'
  returning h.task_id, h.run, h.lot_id, h.amount, h.held_at
), part as materialized (
  select lot_id, sum(amount) as amount, min(held_at) as held_at from hold group by lot_id
), before as materialized (
  select l.id, part.amount, part.held_at < l.expires_at and l.expires_at <= (select at from moment) as late,
         case when greatest(l.expires_at, l.grace_until) <= (select at
           from moment) then l.available else 0 end as lapsed
    from part join credit_lot l on l.id = part.lot_id
     for update of l
), lot as (
  update credit_lot l
     set held = l.held - before.amount, available = l.available + before.amount - before.lapsed,
         expired = l.expired + before.lapsed,
         grace_until = case when before.late then (select at from moment) + $17 * interval '1 hour'
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
), event as (
  insert into task_event (task_id, workspace_id, run, type, payload, for_user)
  select id, workspace_id, run, type, jsonb_build_object('run', run)
         || case when attempt > 0 then jsonb_build_object('attempt', attempt) else '{}' end || $18::jsonb
         || case when n = 1 then $19::jsonb else '{}' end,
         -- Children of a batch are not notified one by one.
         case when notify_maker and batch_id is null and type in ('succeeded', 'failed') then created_by end
    from moved, unnest($20::text[]) with ordinality as e (type, n)
   order by n
), today as materialized (
  select workspace_id, (now() at time zone 'utc')::date as day, model_version, created_by, 1 as "failed" from moved
), usage as (
  insert into usage_day as u (workspace_id, day, "failed") select workspace_id, day, "failed" from today
  on conflict (workspace_id, day) do update set "failed" = "u"."failed" + "excluded"."failed"
), usage_detail as (
  insert into usage_detail as d (workspace_id, day, model_version, user_id, "failed")
  select workspace_id, day, model_version, created_by, "failed" from today
  on conflict (workspace_id, day, model_version, user_id) do update set "failed" = "d"."failed" + "excluded"."failed"
), streamed as (
insert into streamed_event (workspace_id, event, event_key, body)
select workspace_id, $21::text, $22::text, $23::text from webhook_stream
 where workspace_id = $24::uuid and kept_until > now() and exists (select from moved)
on conflict do nothing), delivery as (
with live as (
  select id, target_href, target_host, created_at,
         case status when 'enabled' then 'pending' else 'paused' end as status,
         cardinality(event_types) = 0 or $25 = any(event_types)
           or $26 = any(event_types) as subscribed
    from webhook_endpoint
   where workspace_id = $27 and deleted_at is null and exists (select from moved)
), same as (
  -- Prefers a subscribed endpoint, so the target gets the event once.
  select id from live where target_href = $28::text and status = 'pending'
   order by subscribed desc, created_at, id limit 1
), target (id, target_url, target_host, status) as (
  select id, target_href, target_host, status from live
   where id in (select id from same)
      or subscribed and (status = 'pending' or target_href is distinct from $29::text)
  union all
  select null, $30::text, $31::text, 'pending'
   where $32::text is not null and not exists (select from same) and exists (select from moved)
)
insert into delivery (workspace_id, task_id, run, batch_id, event_key, event, endpoint_id, target_url, target_host,
                      body, traceparent, status, completed_at)
select $33::uuid, $34::uuid, $35::int,
       $36::uuid, $37::text, $38, id, target_url, target_host,
       $39, $40::text, status,
       case status when 'paused' then now() end
  from target
on conflict do nothing returning id)
select *, (select count(*) from delivery) as deliveries, (select plan from slot) as plan,
       (select waiting from slot) as "othersWait", (select coalesce(sum(amount), 0) from hold) as credits
  from moved
 where (select done from freed);
