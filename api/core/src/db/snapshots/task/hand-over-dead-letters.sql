prepare hand_over_dead_letters_1 as
select "id", "run", "workspace_id", "model_version", "failure_reason" from "task" where "dead_letter" = $1
  and id <> all($2::uuid[]) order by "completed_at" limit $3;

prepare hand_over_dead_letters_2 as
with noted as (
  update task set dead_letter = 'done'
   where id = $1 and run = $2 and status = 'failed' and dead_letter = 'due'
  returning id, run
)
insert into task_event (task_id, run, type, payload)
select id, run, 'dead_lettered', jsonb_build_object('run', run) from noted
returning task_id as id;
