prepare recover_deliveries_1 as
select "id", "target_url", "event_types", "status", "disabled_reason", "description", "created_at", "updated_at",
  "last_delivery_at", "last_delivery_status", "dropped_deliveries", "headers_masked", (
  select d.created_at from delivery d
   where d.endpoint_id = webhook_endpoint.id and d.status = 'paused'
   order by d.created_at, d.id limit 1) as "paused_since" from "webhook_endpoint" where "workspace_id" = $1
     and "deleted_at" is null and "id" = $2;

prepare recover_deliveries_2 as
  select count(*) as count from ((
    select d.id, d.created_at from delivery d
     where d.endpoint_id = $1 and d.workspace_id = $2 and not d.sample and d.status = 'exhausted'
       and "d"."completed_at" >= $3 and not (d.event = 'task.failed' and exists (
select from task t where t.id = d.task_id and t.run > d.run))
     order by d.completed_at limit $4) union all (
    select d.id, d.created_at from delivery d
     where d.endpoint_id = $5 and d.workspace_id = $6 and not d.sample and d.status = 'pending' and d.claim is null
       and d.due_at > now()
       and exists (select from delivery_attempt a
                    where a.delivery_id = d.id and a.attempt = d.attempt and "a"."at" >= $7)
     limit $8) union all (
    select d.id, d.created_at from delivery d
     where d.endpoint_id = $9 and d.workspace_id = $10 and not d.sample and d.status = 'paused'
       and "d"."created_at" >= $11 and not (d.event = 'task.failed' and exists (
select from task t where t.id = d.task_id and t.run > d.run))
     order by d.created_at, d.id limit $12)) failed;

prepare recover_deliveries_3 as
select "id", "target_url", "event_types", "status", "disabled_reason", "description", "created_at", "updated_at",
  "last_delivery_at", "last_delivery_status", "dropped_deliveries", "headers_masked", (
  select d.created_at from delivery d
   where d.endpoint_id = webhook_endpoint.id and d.status = 'paused'
   order by d.created_at, d.id limit 1) as "paused_since" from "webhook_endpoint" where "workspace_id" = $1
     and "deleted_at" is null and "id" = $2;

prepare recover_deliveries_4 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare recover_deliveries_5 as
  with failed as materialized (
    
    select d.id, d.created_at from delivery d
     where d.endpoint_id = $1 and d.workspace_id = $2 and not d.sample and d.status = 'exhausted'
       and "d"."completed_at" >= $3 and not (d.event = 'task.failed' and exists (
select from task t where t.id = d.task_id and t.run > d.run))
     order by d.completed_at limit $4 for update of d skip locked
  ), ordered as (
    select id, row_number() over (order by created_at desc, id desc) - 1 as behind from failed
  )
  update delivery d
     set status = 'pending', completed_at = null, due_at = now() - behind * interval '1 microsecond',
       attempts_before = d.attempt,
         target_url = e.target_href, target_host = e.target_host
    from ordered, webhook_endpoint e
   where d.id = ordered.id and e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
  returning d.id;

prepare recover_deliveries_6 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare recover_deliveries_7 as
with failed as materialized (
  
  select d.id, d.created_at from delivery d
   where d.endpoint_id = $1 and d.workspace_id = $2 and not d.sample and d.status = 'pending' and d.claim is null
     and d.due_at > now()
     and exists (select from delivery_attempt a
                  where a.delivery_id = d.id and a.attempt = d.attempt and "a"."at" >= $3)
   limit $4 for update of d skip locked
), ordered as (
  select id, row_number() over (order by created_at desc, id desc) - 1 as behind from failed
)
update delivery d
   set status = 'pending', completed_at = null, due_at = now() - behind * interval '1 microsecond',
     attempts_before = d.attempt,
       target_url = e.target_href, target_host = e.target_host
  from ordered, webhook_endpoint e
 where d.id = ordered.id and e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
returning d.id;

prepare recover_deliveries_8 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare recover_deliveries_9 as
  with failed as materialized (
    
    select d.id, d.created_at from delivery d
     where d.endpoint_id = $1 and d.workspace_id = $2 and not d.sample and d.status = 'paused'
       and "d"."created_at" >= $3 and not (d.event = 'task.failed' and exists (
select from task t where t.id = d.task_id and t.run > d.run))
     order by d.created_at, d.id limit $4 for update of d skip locked
  ), ordered as (
    select id, row_number() over (order by created_at desc, id desc) - 1 as behind from failed
  )
  update delivery d
     set status = 'pending', completed_at = null, due_at = now() - behind * interval '1 microsecond',
       attempts_before = d.attempt,
         target_url = e.target_href, target_host = e.target_host
    from ordered, webhook_endpoint e
   where d.id = ordered.id and e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
  returning d.id;
