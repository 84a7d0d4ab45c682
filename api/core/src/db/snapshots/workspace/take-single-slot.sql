prepare take_single_slot_1 as
update workspace
   set open_singles = open_singles + 1, queued = queued + 1,
     quota_used = case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
  and date_trunc('month', (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end + 1,
       quota_month = case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
  and date_trunc('month',
    (now() + interval '5 minutes') at time zone 'utc')::date) then quota_month else date_trunc('month',
    now() at time zone 'utc')::date end
 where id = $1 and open_singles < $2::int
   and ($3::bigint is null or case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
  and date_trunc('month',
    (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end < $4::bigint)
   
returning id;

prepare take_single_slot_2 as
select open_singles >= $1 as "busy", coalesce(case when (quota_month between date_trunc('month',
  now() at time zone 'utc')::date
    and date_trunc('month',
      (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end >= $2::bigint,
      false) as "spent", (date_trunc('month',
      now() at time zone 'utc') + interval '1 month') at time zone 'utc' as "resetsAt", extract(epoch
      from (date_trunc('month',
      now() at time zone 'utc') + interval '1 month') at time zone 'utc' - now())::float8 as "resetsInSeconds"
      from "workspace" where "id" = $3 for no key update;
