prepare requeue_task as
with source as (
  update upload set used_at = coalesce(used_at, now()) where id = $1 and deleted_at is null returning id
), queued as (
  update task
     set status = 'queued', run = run + 1, retry_count = retry_count + 1, source_etag = $2,
         source_size_bytes = $3::bigint, traceparent = $4::text, attempt = 0,
         queued_at = now(), due_at = now(), started_at = null, completed_at = null, failure_reason = null,
         failure_message = null, dead_letter = null, width = null, height = null
   where id = $5 and run = $6 and status = 'failed' and retry_count < $7
     and exists (select from source)
  returning *
), event as (
  insert into task_event (task_id, workspace_id, run, type, payload)
  select id, workspace_id, run, 'retried', jsonb_build_object('run', run) from queued
)
select * from queued;
