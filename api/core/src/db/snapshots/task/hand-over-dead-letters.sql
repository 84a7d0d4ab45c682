prepare hand_over_dead_letters_1 as
select "id", "run", "workspace_id", "model_version", "failure_reason" from "task" where "dead_letter" = $1
  and id <> all($2::uuid[]) order by "completed_at" limit $3;

prepare hand_over_dead_letters_2 as
with held as materialized (
  select id from workspace where id = $1 for no key update
), noted as (
  update task set dead_letter = 'done'
   where id = $2 and run = $3 and status = 'failed' and dead_letter = 'due'
     and exists (select from held)
  returning id, workspace_id, run
)
insert into task_event (task_id, workspace_id, run, type, payload)
select id, workspace_id, run, 'dead_lettered', jsonb_build_object('run', run) from noted
returning task_id as id;
