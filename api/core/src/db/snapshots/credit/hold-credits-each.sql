prepare hold_credits_each as
with lot as (
  select id, sum(available) over w - available as begins, sum(available) over w as ends
    from credit_lot
   where workspace_id = $1 and has_available and (expires_at is null or greatest(expires_at, grace_until) > now())
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
), hold as (
  insert into credit_hold (task_id, run, lot_id, amount) select task_id, run, lot_id, amount from part
), entry as (
  insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
  select $6::uuid, lot_id, task_id, run, 'available', 'held', amount, lot_available from part
   order by n, lot_available
)
select coalesce(sum(amount), 0) as held from part;
