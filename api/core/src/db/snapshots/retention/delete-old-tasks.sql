prepare delete_old_tasks_1 as
select w.id, d.days
  from workspace w
  join unnest($1::text[], $2::int[]) as p (plan, days) on p.plan = w.plan
 cross join lateral (select case when w.deleted_at is null then p.days else 0 end as days) d
 where w.id <> all($3::uuid[]) and ((select completed_at from task
         where workspace_id = w.id and completed_at is not null
         order by completed_at limit 1) <= now() - d.days * interval '1 day'
    or (select completed_at from delivery
         where workspace_id = w.id and task_id is null and completed_at is not null
         order by completed_at limit 1) <= now() - d.days * interval '1 day')
 limit $4;

prepare delete_old_tasks_2 as
with 
old as materialized (
  select id from task where workspace_id = $1 and completed_at <= now() - $2 * interval '1 day' order by completed_at
    limit $3
), alone as materialized (
  select id from delivery where workspace_id = $4 and task_id is null and completed_at <= now() - $5 * interval '1 day'
   order by completed_at limit $6
), going as materialized (
  select a.id from (select d.id from old join delivery d on d.task_id = old.id union all select id from alone) d
    join delivery_attempt a on a.delivery_id = d.id limit $7
)
delete from delivery_attempt where id in (select id from going);

prepare delete_old_tasks_3 as
with 
old as materialized (
  select id from task where workspace_id = $1 and completed_at <= now() - $2 * interval '1 day' order by completed_at
    limit $3
), alone as materialized (
  select id from delivery where workspace_id = $4 and task_id is null and completed_at <= now() - $5 * interval '1 day'
   order by completed_at limit $6
), going as materialized (
  select d.id from old join delivery d on d.task_id = old.id where d.completed_at is not null limit $7
)
delete from delivery where id in (select id from going);

prepare delete_old_tasks_4 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare delete_old_tasks_5 as
delete from delivery where id in (
  select id from delivery
   where workspace_id = $1 and task_id is null and completed_at <= now() - $2 * interval '1 day'
   order by completed_at limit $3);

prepare delete_old_tasks_6 as
with old as materialized (
  select id from task where workspace_id = $1 and completed_at <= now() - $2 * interval '1 day'
   order by completed_at limit $3 for update
), hold as (
  delete from credit_hold where task_id in (select id from old) and state <> 'open'
), gone as (
  delete from task where id in (select id from old)
  returning id, created_at, upload_id, batch_id, result_key, started_at is not null or run > 1 as has_run
)
select id, created_at as "createdAt", upload_id as "uploadId", batch_id as "batchId", result_key as "resultKey",
       has_run as "hasRun"
  from gone;

prepare delete_old_tasks_7 as
insert into object_deletion (object_key, due_at)
select key, now() + $1 * interval '1 day' from unnest($2::text[]) as k (key)
on conflict do nothing;

prepare delete_old_tasks_8 as
with released as (
  update upload set deleted_at = now()
   where id = any($1::uuid[]) and deleted_at is null
     and not exists (select from task where upload_id = upload.id)
  returning object_key
)
insert into object_deletion (object_key, due_at)
select object_key, now() + $2 * interval '1 day' from released
on conflict do nothing;

prepare delete_old_tasks_9 as
delete from batch where id = any($1::uuid[]) and not exists (select from task where batch_id = batch.id);

prepare delete_old_tasks_10 as
insert into retention_notice as n (workspace_id, deleted) values ($1, $2)
on conflict (workspace_id) do update set deleted = n.deleted + excluded.deleted;
