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
)
insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, reference, lot_available)
select $6::uuid, id, 'available', 'refunded', $7::int, $8::text, available from lot
returning amount as refunded;

prepare refund_credits_4 as
select case when (expires_at is null or greatest(expires_at,
  grace_until) > now()) then available else 0 end as "refundable" from "credit_lot" where "id" = $1
  and "workspace_id" = $2;
