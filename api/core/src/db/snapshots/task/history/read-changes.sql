prepare read_changes as
select (p.n - 1)::int as place, e.task_id as "taskId", t.batch_id as "batchId", e.id, e.type, e.payload, e.at,
       case when e.type = 'succeeded' then (extract(epoch from date_trunc('milliseconds', e.at) - (
         select date_trunc('milliseconds', min(p.at)) from task_event p
          where p.task_id = e.task_id and p.run = e.run and p.type = 'processing')) * 1000)::bigint
        end as "durationMs"
  from unnest($1::uuid[],
              $2::bigint[]) with ordinality as p (workspace_id, after, n)
 cross join lateral (
   select * from task_event where workspace_id = p.workspace_id and id > p.after order by id limit $3
 ) e
  join task t on t.id = e.task_id
 order by p.n, e.id;
