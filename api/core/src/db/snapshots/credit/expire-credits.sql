prepare expire_credits_1 as
select distinct workspace_id as id
  from (select workspace_id from credit_lot where (has_available and greatest(expires_at, grace_until) <= now())
    and workspace_id <> all($1::uuid[])
         order by greatest(expires_at, grace_until) limit $2) l;

prepare expire_credits_2 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare expire_credits_3 as
    with part as materialized (
      select id, available as amount from credit_lot where workspace_id = $1 and (has_available and greatest(expires_at,
        grace_until) <= now()) for update
    ), lot as (
      update credit_lot l set available = 0, expired = l.expired + part.amount from part where l.id = part.id
      returning l.id, part.amount, l.available
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available)
      select $2::uuid, id, 'available', 'expired', amount, 0 from lot
    ), low as (
  insert into credit_low_balance (workspace_id)
  select w.id from workspace w
   where w.id = $3::uuid and w.low_balance_armed
     and exists (select from "lot" l where l.available < w.low_balance_below)
  on conflict do nothing
)
    select amount from lot;
