prepare take_attempt as
with pair as (
  insert into login_failure as f (account, network, failures, allowed_at, last_at)
  values ($1, $2, 1, now() + $3::int * interval '1 second', now())
  on conflict (account, network) do update set
    failures = case when f.last_at < now() - $4 * interval '1 hour' then 1 else f.failures + 1 end,
    allowed_at = now() + interval '1 second' *
      ($5::int[])[least(case when f.last_at < now() - $6 * interval '1 hour' then 1 else f.failures + 1 end, $7::int)],
    last_at = now()
  -- Not the statement's time: it may have begun before the attempt that it waited for.
  where f.allowed_at <= clock_timestamp()
  returning true as taken
), whole as (
  insert into login_failure as f (account, network, failures, allowed_at, last_at)
  select $8::bytea, '', 1, now(), now() from pair
  on conflict (account, network) do update set
    failures = case when f.last_at < now() - $9 * interval '1 hour' then 1 else f.failures + 1 end,
    told_at = case when f.last_at < now() - $10 * interval '1 hour' then null else f.told_at end,
    last_at = now()
  returning failures
)
select (select failures from whole) as failures,
       (select extract(epoch from allowed_at - now())::float8 from login_failure
         where account = $11 and network = $12) as "waitSeconds";
