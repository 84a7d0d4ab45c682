prepare drop_paused_1 as
select e.id, over.id as newest
  from webhook_endpoint e
 cross join lateral (
    select d.id from delivery d
     where d.endpoint_id = e.id and d.status = 'paused'
     order by d.created_at desc, d.id desc offset $1 limit 1) over
 where e.status = 'disabled' and e.deleted_at is null and e.id <> all($2::uuid[])
 limit $3;

prepare drop_paused_2 as
with going as materialized (
  select d.id from delivery d
   where d.endpoint_id = $1 and d.status = 'paused'
     and (d.created_at, d.id) <= (select created_at, id from delivery where id = $2)
   order by d.created_at, d.id limit $3 for update skip locked
), gone as (
  delete from delivery d using going where d.id = going.id returning d.id
), counted as (
  update webhook_endpoint set dropped_deliveries = dropped_deliveries + (select count(*) from gone)
   where id = $4 and exists (select from gone)
)
select count(*)::int as dropped from gone;
