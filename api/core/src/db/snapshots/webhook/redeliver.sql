prepare redeliver_1 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare redeliver_2 as
  select d.status, d.claim is not null as "isClaimed",
         (d.event = 'task.failed' and exists (
select from task t where t.id = d.task_id and t.run > d.run)) as "isOvertaken", e.status as "endpointStatus"
    from delivery d left join webhook_endpoint e on e.id = d.endpoint_id
   where d.id = $1 and d.workspace_id = $2 and e.deleted_at is null
     for update of d;

prepare redeliver_3 as
update delivery d
   set status = 'pending', completed_at = null, due_at = now(), attempts_before = d.attempt,
       target_url = coalesce((select target_href from webhook_endpoint where id = d.endpoint_id), d.target_url),
       target_host = coalesce((select target_host from webhook_endpoint where id = d.endpoint_id), d.target_host)
 where d.id = $1;

prepare redeliver_4 as
select "id", "event", "endpoint_id", "task_id", "batch_id", "target_url", "body", "status", "attempt", "due_at",
  "claimed_until", "created_at", "completed_at" from "delivery" where "id" = $1 and "workspace_id" = $2;
