prepare return_refunded as
with owner as (
  select id, low_balance_armed, low_balance_below from workspace where id = $1
), lot as (
  update credit_lot set available = available + $2::int, refunded = refunded - $3::int
   where id = $4 and workspace_id = $5 and refunded >= $6::int
     and not exists (select from credit_entry where workspace_id = $7 and reference = $8)
  returning id, available
), armed as (
  update workspace w set low_balance_armed = true from owner
   where w.id = owner.id and not owner.low_balance_armed and exists (select from lot)
     and owner.low_balance_below <= $9::int + (
       select coalesce(sum(available), 0) from credit_lot
        where workspace_id = owner.id and has_available and (expires_at is null or greatest(expires_at,
          grace_until) > now()))
)
insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, reference, lot_available)
select $10::uuid, id, 'refunded', 'available', $11::int, $12::text, available
  from lot;
