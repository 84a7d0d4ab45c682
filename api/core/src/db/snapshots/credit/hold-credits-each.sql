prepare hold_credits_each as
with lot as (
  select id, sum(available) over w - available as begins, sum(available) over w as ends
    from credit_lot
   where workspace_id = $1 and has_available and (disputed is null and (expires_at is null or greatest(expires_at,
     grace_until) > now()))
  window w as (order by priority, expires_at nulls last, created_at, id)
), wanted as (
  select task_id, run, (n - 1) * $2::int as begins, n * $3::int as ends
    from unnest($4::uuid[], $5::int[]) with ordinality as r (task_id, run, n)
), part as materialized (
  select task_id, run, id as lot_id, (least(l.ends, r.ends) - greatest(l.begins, r.begins))::int as amount,
         (l.ends - least(l.ends, r.ends))::int as lot_available, r.ends as n
    from wanted r join lot l on l.begins < r.ends and r.begins < l.ends
), taken as (
  update credit_lot l set available = l.available - p.amount, held = l.held + p.amount
    from (select lot_id, sum(amount) as amount from part group by lot_id) p where l.id = p.lot_id
  returning l.available
), low as (
  insert into credit_low_balance (workspace_id)
  select w.id from workspace w
   where w.id = $6::uuid and w.low_balance_armed
     and exists (select from "taken" l where l.available < w.low_balance_below)
  on conflict do nothing
), hold as (
  insert into credit_hold (task_id, run, lot_id, amount) select task_id, run, lot_id, amount from part
), entry as (
  insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
  select $7::uuid, lot_id, task_id, run, 'available', 'held', amount, lot_available from part
   order by n, lot_available
), member as (
  select w.id as workspace_id, $8::uuid as user_id, s.credit_limit
    from workspace w left join membership s on s.workspace_id = w.id and s.user_id = $9::uuid
   where w.id = $10 and w.personal_of is null and $11::uuid is not null
), counted as (
  insert into member_credit_month as m (workspace_id, user_id, month, used)
  select workspace_id, user_id, date_trunc('month', now() at time zone 'utc')::date, $12::int
    from member where credit_limit is null or $13::int <= credit_limit
  on conflict (workspace_id, user_id, month) do update set used = m.used + excluded.used
   where m.used + excluded.used <= (select coalesce(credit_limit, 9223372036854775807) from member)
  returning 1
)
select coalesce(sum(amount), 0) as held, exists (select from member) and not exists (select
  from counted) as "limitReached" from part;
