prepare fail_attempt as
with held as materialized (
  select id from workspace where id = $1 for no key update
), waiting as (
  update task set claim = null, claimed_until = null, due_at = now() + $2 * interval '1 ms'
   where id = $3 and status = 'processing' and (run = $4 and claim = $5)
     and exists (select from held)
  returning id, workspace_id, run
)
insert into task_event (task_id, workspace_id, run, type, payload)
select id, workspace_id, run, 'attempt_failed', $6::jsonb from waiting
returning task_id as id;
