prepare delete_old_tasks_1 as
select w.id, d.ids, coalesce(p.plan_seconds, $1)::float8 as "planSeconds", 0 as seconds,
       true as "isChosen"
  from (select workspace_id, array_agg(id) as ids
          from (select id, workspace_id from task
                 where delete_at <= now() and workspace_id <> all($2::uuid[])
                 order by delete_at limit $3) t
         group by workspace_id) d
  join workspace w on w.id = d.workspace_id
  left join lateral (
select p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds) is not null as chosen,
       least(p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds)) as seconds
  from unnest($4::text[], $5::float8[],
              $6::float8[]) as p (plan, plan_seconds, default_seconds)
 where p.plan = w.plan) p on true;

prepare delete_old_tasks_2 as
  with 
  old as materialized (
  select id from task
   where workspace_id = $1 and completed_at <= now() - $2::float8 * interval '1 second'
     and 
(completed_at is not null and (delete_at is null or completed_at <= now() - $3::float8 * interval '1 second'))
   order by completed_at limit $4), alone as materialized (
  select id from delivery
   where workspace_id = $5 and task_id is null
     and completed_at <= now() - $6::float8 * interval '1 second'
   order by completed_at limit $7), going as materialized (
    select a.id from (select d.id from old join delivery d on d.task_id = old.id union all select id from alone) d
      join delivery_attempt a on a.delivery_id = d.id limit $8
  )
  delete from delivery_attempt where id in (select id from going);

prepare delete_old_tasks_3 as
  with 
  old as materialized (
  select id from task
   where workspace_id = $1 and completed_at <= now() - $2::float8 * interval '1 second'
     and 
(completed_at is not null and (delete_at is null or completed_at <= now() - $3::float8 * interval '1 second'))
   order by completed_at limit $4), alone as materialized (
  select id from delivery
   where workspace_id = $5 and task_id is null
     and completed_at <= now() - $6::float8 * interval '1 second'
   order by completed_at limit $7), going as materialized (
    select d.id from old join delivery d on d.task_id = old.id where d.completed_at is not null limit $8
  )
  delete from delivery where id in (select id from going);

prepare delete_old_tasks_4 as
update workspace set retention_at = now() where id = $1;

prepare delete_old_tasks_5 as
delete from delivery where id in (
    select id from delivery
     where workspace_id = $1 and task_id is null
       and completed_at <= now() - $2::float8 * interval '1 second'
     order by completed_at limit $3);

prepare delete_old_tasks_6 as
  select id from task where id in (
  select id from task
   where workspace_id = $1 and completed_at <= now() - $2::float8 * interval '1 second'
     and 
(completed_at is not null and (delete_at is null or completed_at <= now() - $3::float8 * interval '1 second'))
   order by completed_at limit $4) for update;

prepare delete_old_tasks_7 as
  with 
  old as materialized (
  select id from task
   where workspace_id = $1 and completed_at <= now() - $2::float8 * interval '1 second'
     and 
(completed_at is not null and (delete_at is null or completed_at <= now() - $3::float8 * interval '1 second'))
   order by completed_at limit $4), alone as materialized (
  select id from delivery
   where workspace_id = $5 and task_id is null
     and completed_at <= now() - $6::float8 * interval '1 second'
   order by completed_at limit $7), going as materialized (
    select a.id from (select d.id from old join delivery d on d.task_id = old.id union all select id from alone) d
      join delivery_attempt a on a.delivery_id = d.id limit $8
  )
  delete from delivery_attempt where id in (select id from going);

prepare delete_old_tasks_8 as
  with 
  old as materialized (
  select id from task
   where workspace_id = $1 and completed_at <= now() - $2::float8 * interval '1 second'
     and 
(completed_at is not null and (delete_at is null or completed_at <= now() - $3::float8 * interval '1 second'))
   order by completed_at limit $4), alone as materialized (
  select id from delivery
   where workspace_id = $5 and task_id is null
     and completed_at <= now() - $6::float8 * interval '1 second'
   order by completed_at limit $7), going as materialized (
    select d.id from old join delivery d on d.task_id = old.id where d.completed_at is not null limit $8
  )
  delete from delivery where id in (select id from going);

prepare delete_old_tasks_9 as
update workspace set retention_at = now() where id = $1;

prepare delete_old_tasks_10 as
delete from delivery where id in (
    select id from delivery
     where workspace_id = $1 and task_id is null
       and completed_at <= now() - $2::float8 * interval '1 second'
     order by completed_at limit $3);

prepare delete_old_tasks_11 as
  select id from task where id in (
  select id from task
   where workspace_id = $1 and completed_at <= now() - $2::float8 * interval '1 second'
     and 
(completed_at is not null and (delete_at is null or completed_at <= now() - $3::float8 * interval '1 second'))
   order by completed_at limit $4) for update;

prepare delete_old_tasks_12 as
  select id, seconds, plan_seconds as "planSeconds", chosen as "isChosen", retention_at::text as at,
         due::text as due, coalesce(due <= now(), false) as "isOld"
    from (select w.id, w.retention_at, p.chosen,
                 case when w.deleted_at is null then p.seconds else 0 end as seconds,
                 case when w.deleted_at is null then p.plan_seconds else 0 end as plan_seconds
            from workspace w cross join lateral (
  select p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds) is not null as chosen,
         least(p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds)) as seconds
    from unnest($1::text[], $2::float8[],
                $3::float8[]) as p (plan, plan_seconds, default_seconds)
   where p.plan = w.plan) p
           where w.id <> all($4::uuid[])
                 and w.retention_at <= now() order by w.retention_at limit $5
         ) w
   cross join lateral (
     select least((select completed_at + w.seconds * interval '1 second' from task
                    where workspace_id = w.id and 
(completed_at is not null and (delete_at is null or completed_at <= now() - w.plan_seconds * interval '1 second'))
                    order by completed_at limit 1),
                  (select completed_at + w.plan_seconds * interval '1 second' from delivery
                    where workspace_id = w.id and task_id is null and completed_at is not null
                    order by completed_at limit 1)) as due) d;
