prepare adjust_credits_1 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare adjust_credits_2 as
insert into "credit_adjustment" ("workspace_id", "amount", "reason", "reference") values ($1, $2, $3,
  $4) on conflict ("workspace_id", "reference") do nothing returning "id";

prepare adjust_credits_3 as
with ranked as (
  select id, available,
         sum(available) over (order by priority, expires_at nulls last, created_at, id) - available as before
    from credit_lot
   where workspace_id = $1 and has_available and (expires_at is null or greatest(expires_at, grace_until) > now())
), part as (
  select id, least(available, $2::int - before)::int as amount from ranked where before < $3::int
), lot as (
  update credit_lot l set available = l.available - part.amount, adjusted = l.adjusted + part.amount
    from part where l.id = part.id
  returning l.id, part.amount, l.available
), entry as (
  insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available, adjustment_id)
  select $4::uuid, id, 'available', 'adjusted', amount, available, $5::uuid from lot
), low as (
  insert into credit_low_balance (workspace_id)
  select w.id from workspace w
   where w.id = $6::uuid and w.low_balance_armed
     and exists (select from "lot" l where l.available < w.low_balance_below)
  on conflict do nothing
)
select coalesce(sum(amount), 0) as taken from lot;
