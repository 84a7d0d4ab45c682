prepare find_violations_1 as
with touched as materialized (
  select distinct lot_id as id
    from (select lot_id from credit_entry order by id desc limit (select $1::int)) e limit $2
)
select l.id
  from touched join credit_lot l using (id)
 cross join lateral (
    select count(*) as entries,
           coalesce(sum(amount) filter (where from_account = 'source'), 0) as granted,
           coalesce(sum(case 'available' when to_account then amount when from_account then -amount end), 0)
             as available,
           coalesce(sum(case 'held' when to_account then amount when from_account then -amount end), 0) as held,
           coalesce(sum(amount) filter (where to_account = 'spent'), 0) as spent,
           coalesce(sum(amount) filter (where to_account = 'expired'), 0) as expired,
           coalesce(sum(case 'refunded' when to_account then amount when from_account then -amount end), 0)
             as refunded
      from (select from_account, to_account, amount from credit_entry
             where lot_id = l.id order by id limit (select $3::int)) e) s
 where s.entries <= $4::int
   and (l.granted, l.available, l.held, l.spent, l.expired, l.refunded)
       is distinct from (s.granted, s.available, s.held, s.spent, s.expired, s.refunded)
 limit $5;

prepare find_violations_2 as
select task_id as id
  from (select task_id, run, lot_id, from_account, to_account from credit_entry
         order by id desc limit (select $1::int)) e
 where from_account = 'held' and task_id is not null
 group by task_id
having count(*) > count(distinct (run, lot_id)) or count(distinct run) filter (where to_account = 'spent') > 1
 limit $2;

prepare find_violations_3 as
select t.id
  from (select id, run, status = 'succeeded' and charge is distinct from 'none' as charged
          from task where completed_at is not null
         order by queued_at desc limit (select $1::int)) t
 cross join lateral (
    select from credit_hold h
     where h.task_id = t.id
       and h.state <> case when h.run = t.run and t.charged then 'captured' else 'released' end
     limit 1) h
 limit $2;

prepare find_violations_4 as
select delivery_id as id
  from (select delivery_id, error from delivery_attempt order by id desc limit (select $1::int)) a
 where error is null
 group by delivery_id
having count(*) > 1
 limit $2;

prepare find_violations_5 as
with touched as materialized (
  select distinct workspace_id as id
    from ((select workspace_id from task where (status in ('queued', 'processing') and queued_at < 'infinity')
            order by queued_at desc limit (select $1::int))
          union all
          (select workspace_id from task where completed_at is not null
            order by queued_at desc limit (select $2::int))) t
   limit $3
)
select w.id
  from touched join workspace w using (id)
 cross join lateral (
    select count(*) as queued from (
      select from task t where t.workspace_id = w.id and t.status = 'queued' limit (select $4::int)) t) q
 cross join lateral (
    select count(*) as processing from (
      select from task t where t.workspace_id = w.id and t.status = 'processing'
       limit (select $5::int)) t) p
 where (least(w.queued, $6::int), least(w.processing, $7::int)) <> (q.queued, p.processing)
 limit $8;
