prepare take_child_slots_1 as
update "workspace" set "open_children" = "open_children" + $1, "queued" = "queued" + $2,
  "quota_used" = case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
    and date_trunc('month',
      (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end + $3::int,
      "quota_month" = case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
    and date_trunc('month',
      (now() + interval '5 minutes') at time zone 'utc')::date) then quota_month else date_trunc('month',
      now() at time zone 'utc')::date end where "id" = $4 and open_children + $5::int <= $6::int
      and case when (quota_month between date_trunc('month', now() at time zone 'utc')::date
    and date_trunc('month',
      (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end + $7::int <= $8::bigint
      returning "id";

prepare take_child_slots_2 as
select "open_children" as "openChildren", case when (quota_month between date_trunc('month',
  now() at time zone 'utc')::date
    and date_trunc('month',
      (now() + interval '5 minutes') at time zone 'utc')::date) then quota_used else 0 end as "quotaUsed",
      (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as "resetsAt",
      extract(epoch from (date_trunc('month',
      now() at time zone 'utc') + interval '1 month') at time zone 'utc' - now())::float8 as "resetsInSeconds"
      from "workspace" where "id" = $1 for no key update;
