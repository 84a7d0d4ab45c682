prepare return_refunded as
with lot as (
  update credit_lot set available = available + $1::int, refunded = refunded - $2::int
   where id = $3 and workspace_id = $4 and refunded >= $5::int
     and not exists (select from credit_entry where workspace_id = $6 and reference = $7)
  returning id, available
)
insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, reference, lot_available)
select $8::uuid, id, 'refunded', 'available', $9::int, $10::text, available
  from lot;
