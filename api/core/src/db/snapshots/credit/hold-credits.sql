prepare hold_credits as
with ranked as (
  select id, available,
         sum(available) over (order by priority, expires_at nulls last, created_at, id) - available as before
    from credit_lot
   where workspace_id = $1 and has_available and (expires_at is null or greatest(expires_at, grace_until) > now())
), part as (
  select id, least(available, $2::int - before)::int as amount from ranked where before < $3::int
), lot as (
  update credit_lot l set available = l.available - part.amount, held = l.held + part.amount
    from part where l.id = part.id
  returning l.id, part.amount, l.available
), hold as (
  insert into credit_hold (task_id, run, lot_id, amount) select $4::uuid, $5::int, id, amount from lot
), entry as (
  insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
  select $6::uuid, id, $7::uuid, $8::int, 'available', 'held', amount, available from lot
), low as (
  insert into credit_low_balance (workspace_id)
  select w.id from workspace w
   where w.id = $9::uuid and w.low_balance_armed
     and exists (select from "lot" l where l.available < w.low_balance_below)
  on conflict do nothing
), member as (
  select w.id as workspace_id, $10::uuid as user_id, s.credit_limit
    from workspace w left join membership s on s.workspace_id = w.id and s.user_id = $11::uuid
   where w.id = $12 and w.personal_of is null and $13::uuid is not null
), counted as (
  insert into member_credit_month as m (workspace_id, user_id, month, used)
  select workspace_id, user_id, date_trunc('month', now() at time zone 'utc')::date, $14::int
    from member where credit_limit is null or $15::int <= credit_limit
  on conflict (workspace_id, user_id, month) do update set used = m.used + excluded.used
   where m.used + excluded.used <= (select coalesce(credit_limit, 9223372036854775807) from member)
  returning 1
)
select coalesce(sum(amount), 0) as held, exists (select from member) and not exists (select
  from counted) as "limitReached" from lot;
