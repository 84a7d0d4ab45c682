prepare sweep_tasks as
select id, workspace_id as "workspaceId", batch_id as "batchId", status, run,
       callback_url as "callbackUrl", traceparent, attempt,
       (status = 'processing' and attempt >= $1) as exhausted, claim is not null as lapsed
  from task
where status in ('queued', 'processing') and (claimed_until is null or claimed_until <= now()) and id <> all($2::uuid[])
   and (queued_at <= now() - $3 * interval '1 ms'
        or (status = 'processing' and attempt >= $4))
 order by queued_at limit $5;
