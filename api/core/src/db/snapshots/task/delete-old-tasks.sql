prepare delete_old_tasks_1 as
select id, days, retention_at::text as at, oldest::text as oldest, coalesce(oldest <= now() - days * interval '1 day',
  false) as "isOld"
  from (select w.id, w.retention_at, case when w.deleted_at is null then p.days else 0 end as days
          from workspace w
          join unnest($1::text[], $2::int[]) as p (plan, days) on p.plan = w.plan
         where w.id <> all($3::uuid[])
               and w.retention_at <= now() order by w.retention_at limit $4
       ) w
 cross join lateral (
   select least((select completed_at from task where workspace_id = w.id and completed_at is not null
                  order by completed_at limit 1),
                (select completed_at from delivery
                  where workspace_id = w.id and task_id is null and completed_at is not null
                  order by completed_at limit 1)) as oldest) o;

prepare delete_old_tasks_2 as
update workspace
   set retention_at = least(
     $1::timestamptz + $2::int * interval '1 day',
     -- The last tasks of a deleted workspace are deleted as soon as they end.
     case when deleted_at is not null and queued + processing > 0 then now() + interval '1 minute'
          else now() + (0.5 + random() / 2) * interval '1 day' end)
 where id = $3 and retention_at = $4::timestamptz;

prepare delete_old_tasks_3 as
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

prepare delete_old_tasks_4 as
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

prepare delete_old_tasks_5 as
update workspace set retention_at = now() where id = $1;

prepare delete_old_tasks_6 as
delete from delivery where id in (
  select id from delivery
   where workspace_id = $1 and task_id is null and completed_at <= now() - $2 * interval '1 day'
   order by completed_at limit $3);

prepare delete_old_tasks_7 as
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

prepare delete_old_tasks_8 as
insert into object_deletion (object_key, due_at)
select key, now() + $1 * interval '1 day' from unnest($2::text[]) as k (key)
on conflict do nothing;

prepare delete_old_tasks_9 as
with released as (
  update upload set deleted_at = now()
   where id = any($1::uuid[]) and deleted_at is null
     and not exists (select from task where upload_id = upload.id)
  returning object_key
)
insert into object_deletion (object_key, due_at)
select object_key, now() + $2 * interval '1 day' from released
on conflict do nothing;

prepare delete_old_tasks_10 as
delete from batch where id = any($1::uuid[]) and not exists (select from task where batch_id = batch.id);

prepare delete_old_tasks_11 as
insert into retention_notice as n (workspace_id, deleted) values ($1, $2)
on conflict (workspace_id) do update set deleted = n.deleted + excluded.deleted;
