prepare refund_credits_1 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare refund_credits_2 as
select "amount" as "refunded" from "credit_entry" where "workspace_id" = $1 and "reference" = $2;

prepare refund_credits_3 as
with lot as (
  update credit_lot set available = available - $1::int, refunded = refunded + $2::int
   where id = $3 and workspace_id = $4 and available >= $5::int and (expires_at is null or greatest(expires_at,
     grace_until) > now())
  returning id, available
), low as (
  insert into credit_low_balance (workspace_id)
  select w.id from workspace w
   where w.id = $6::uuid and w.low_balance_armed
     and exists (select from "lot" l where l.available < w.low_balance_below)
  on conflict do nothing
)
insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, reference, lot_available)
select $7::uuid, id, 'available', 'refunded', $8::int, $9::text, available from lot
returning amount as refunded;

prepare refund_credits_4 as
select case when (expires_at is null or greatest(expires_at,
  grace_until) > now()) then available else 0 end as "refundable" from "credit_lot" where "id" = $1
  and "workspace_id" = $2;
