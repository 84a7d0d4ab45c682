set local synchronous_commit = off;

prepare add_requests_2 as
insert into usage_day as u (workspace_id, day, api_requests)
select w.id, (now() at time zone 'utc')::date, asked.requests
  from unnest($1::uuid[], $2::bigint[]) as asked (id, requests)
  join workspace w on w.id = asked.id
 order by w.id
on conflict (workspace_id, day) do update set api_requests = u.api_requests + excluded.api_requests;
