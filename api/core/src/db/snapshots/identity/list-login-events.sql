prepare list_login_events_1 as
select "id", "at", "success", "method", "ip_address", "user_agent", "failure_reason", (extract(epoch
  from at) * 1000000)::bigint::text as "at_micros" from "login_event" where "user_id" = $1 order by "at" desc, "id" desc
  limit $2 offset $3;

prepare list_login_events_2 as
select "id", "at", "success", "method", "ip_address", "user_agent", "failure_reason", (extract(epoch
  from at) * 1000000)::bigint::text as "at_micros" from "login_event" where "user_id" = $1 and (at,
  id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3::uuid) order by "at" desc, "id" desc
  limit $4 offset $5;

prepare list_login_events_3 as
select count(*) as count from (select from (select "id" from "login_event" where "user_id" = $1) as listed
  limit 10001) as counted;
