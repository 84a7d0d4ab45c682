prepare forfeit_credits as
with part as materialized (
  select id, available as amount from credit_lot where workspace_id = $1 and has_available for update
), lot as (
  update credit_lot l set available = 0, expired = l.expired + part.amount from part where l.id = part.id
  returning l.id, part.amount
), entry as (
  insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
  select $2::uuid, id, 'available', 'expired', amount from lot
)
select coalesce(sum(amount), 0) as amount from lot;
