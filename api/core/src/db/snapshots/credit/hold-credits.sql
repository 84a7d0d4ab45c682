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
)
select coalesce(sum(amount), 0) as held from lot;
