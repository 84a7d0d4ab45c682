prepare tell_ends_of_tasks_1 as
select id::text as "id" from "task_event" where "for_user" is not null and id <> all($1::bigint[])
  order by "task_event"."id" limit $2;

prepare tell_ends_of_tasks_2 as
with waiting as materialized (
  select id, for_user from task_event where id = $1::bigint and for_user is not null for update skip locked
)
update task_event e set for_user = null
  from waiting, task t
 where e.id = waiting.id and t.id = e.task_id
returning t.id as "taskId", t.workspace_id as "workspaceId", waiting.for_user as "userId", e.type, e.run,
          t.run = e.run as "isLatest", e.payload;
