prepare list_entries_1 as
with page as materialized ((select * from "credit_entry" where "workspace_id" = $1
  and ((to_account = 'refunded' or from_account = 'refunded') and to_account in ('available', 'expired', 'refunded',
  'adjusted')) and "at" >= $2 and "at" < $3 order by "at" desc, "id" desc limit $4 offset $5))
select p.id::text as id, case when adjustment_id is not null then 'adjust'
                     when from_account = 'source' then 'grant'
                     when to_account = 'held' then 'hold'
                     when to_account = 'spent' then 'capture'
                     when to_account = 'expired' then 'expire'
                     when from_account = 'held' then 'release'
                     else 'refund' end as type, p.lot_id as "lotId", l.kind as "lotKind", p.task_id as "taskId",
       p.amount, case when to_account = 'available' then p.amount when from_account = 'available' then -p.amount
                      else 0 end as change,
       (select sum((select e.lot_available from credit_entry e
                     where e.lot_id = w.id and e.id <= p.id order by e.id desc limit 1))
          from credit_lot w where w.workspace_id = p.workspace_id) as "balanceAfter",
       case when from_account in ('source', 'refunded') or to_account = 'refunded'
            then (select o.id from payment_order o where o.lot_id = p.lot_id limit 1) end as "orderId",
       (select a.reason from credit_adjustment a where a.id = p.adjustment_id) as reason,
       p.at as "createdAt", (extract(epoch from p.at) * 1000000)::bigint::text as created_at_micros
  from page p join credit_lot l on l.id = p.lot_id
 order by p.at desc, p.id desc;

prepare list_entries_2 as
with page as materialized ((select * from "credit_entry" where "workspace_id" = $1 and "at" >= $2 and "at" < $3 and (at,
  id) < (to_timestamp(0) + $4::bigint * interval '1 microsecond', $5::bigint) order by "at" desc, "id" desc
  limit $6 offset $7))
select p.id::text as id, case when adjustment_id is not null then 'adjust'
                     when from_account = 'source' then 'grant'
                     when to_account = 'held' then 'hold'
                     when to_account = 'spent' then 'capture'
                     when to_account = 'expired' then 'expire'
                     when from_account = 'held' then 'release'
                     else 'refund' end as type, p.lot_id as "lotId", l.kind as "lotKind", p.task_id as "taskId",
       p.amount, case when to_account = 'available' then p.amount when from_account = 'available' then -p.amount
                      else 0 end as change,
       (select sum((select e.lot_available from credit_entry e
                     where e.lot_id = w.id and e.id <= p.id order by e.id desc limit 1))
          from credit_lot w where w.workspace_id = p.workspace_id) as "balanceAfter",
       case when from_account in ('source', 'refunded') or to_account = 'refunded'
            then (select o.id from payment_order o where o.lot_id = p.lot_id limit 1) end as "orderId",
       (select a.reason from credit_adjustment a where a.id = p.adjustment_id) as reason,
       p.at as "createdAt", (extract(epoch from p.at) * 1000000)::bigint::text as created_at_micros
  from page p join credit_lot l on l.id = p.lot_id
 order by p.at desc, p.id desc;

prepare list_entries_3 as
select count(*) as count from (select from (select "id" from "credit_entry" where "workspace_id" = $1
  and (from_account = 'held' and to_account = 'available' and to_account in ('available', 'expired', 'refunded',
  'adjusted')) and "at" >= $2 and "at" < $3) as listed limit 10001) as counted;
