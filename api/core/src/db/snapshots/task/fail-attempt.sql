prepare fail_attempt as
with waiting as (
  update task set claim = null, claimed_until = null, due_at = now() + $1 * interval '1 ms'
   where id = $2 and status = 'processing' and (run = $3 and claim = $4)
  returning id, run
)
insert into task_event (task_id, run, type, payload)
select id, run, 'attempt_failed', $5::jsonb from waiting
returning task_id as id;
