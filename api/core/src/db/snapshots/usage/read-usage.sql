prepare read_usage_1 as
with month as (select date_trunc('month', now() at time zone 'utc') as start)
select start at time zone 'utc' as start, (start + interval '1 month') at time zone 'utc' as end,
       case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
and date_trunc('month',
  (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end as "quotaUsed"
  from workspace, month where id = $1;

prepare read_usage_2 as
with month as (select ($1::timestamptz at time zone 'utc')::date as start,
                      (now() at time zone 'utc')::date as today)
select series.day::date as date, series.day >= month.start as "inMonth",
       coalesce(created, 0) as "totalTasks", coalesce(succeeded, 0) as "succeededTasks",
       coalesce(failed, 0) as "failedTasks", coalesce(canceled, 0) as "canceledTasks",
       coalesce(credits, 0) as "creditsConsumed", coalesce(api_requests, 0) as "apiRequests",
       coalesce(latency_ms, 0) as "latencyMs"
  from month
 cross join generate_series(least(month.start, month.today - $2::int)::timestamp,
                            month.today::timestamp, interval '1 day') as series (day)
  left join usage_day u on u.workspace_id = $3 and u.day = series.day::date
 order by series.day;
