prepare cancel_task_1 as
select * from "task" where "id" = $1 and "workspace_id" = $2;

prepare cancel_task_2 as
with slot as materialized (
  select id, plan, waiting
    from workspace where id = $1 and "open_singles" > 0 and "queued" > 0 for no key update
), moved as (
  update task set status = $2, completed_at = now(), claim = null, claimed_until = null
   where id = $3 and status = $4 and run = $5 and exists (select from slot)
  returning *
), freed as materialized (
  select count_tasks(workspace_id, $6::int, $7::int, $8::int, $9::int) as done
    from moved
), moment as materialized (
  -- Not the statement's time: the statement may have waited for a lock past a lot's expiry.
  select clock_timestamp() as at from moved
), hold as (
  update credit_hold h set state = $10
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
         grace_until = case when before.late then (select at from moment) + $11 * interval '1 hour'
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
         || case when attempt > 0 then jsonb_build_object('attempt', attempt) else '{}' end || $12::jsonb
         || case when n = 1 then $13::jsonb else '{}' end,
         -- Children of a batch are not notified one by one.
         case when notify_maker and batch_id is null and type in ('succeeded', 'failed') then created_by end
    from moved, unnest($14::text[]) with ordinality as e (type, n)
   order by n
), today as materialized (
  select workspace_id, (now() at time zone 'utc')::date as day, model_version, created_by, 1 as "canceled" from moved
), usage as (
  insert into usage_day as u (workspace_id, day, "canceled") select workspace_id, day, "canceled" from today
  on conflict (workspace_id, day) do update set "canceled" = "u"."canceled" + "excluded"."canceled"
), usage_detail as (
  insert into usage_detail as d (workspace_id, day, model_version, user_id, "canceled")
  select workspace_id, day, model_version, created_by, "canceled" from today
  on conflict (workspace_id, day, model_version,
    user_id) do update set "canceled" = "d"."canceled" + "excluded"."canceled"
), delivery as (select id from moved where false)
select *, (select count(*) from delivery) as deliveries, (select plan from slot) as plan,
       (select waiting from slot) as "othersWait", (select coalesce(sum(amount), 0) from hold) as credits
  from moved
 where (select done from freed);
