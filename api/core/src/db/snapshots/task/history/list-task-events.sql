prepare list_task_events as
select e.id, e.type, e.payload, e.at,
       case when e.type = 'succeeded' then (extract(epoch from date_trunc('milliseconds', e.at) - (
         select date_trunc('milliseconds', min(p.at)) from task_event p
          where p.task_id = e.task_id and p.run = e.run and p.type = 'processing')) * 1000)::bigint
        end as "durationMs"
  from task t join task_event e on e.task_id = t.id
 where t.id = $1 and t.workspace_id = $2 and ($3::boolean or e.run = t.run)
 order by e.id;
