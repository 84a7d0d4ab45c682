prepare list_sessions_1 as
select "id", "created_at", "last_used_at", "user_agent", host(ip_address) as "ip_address", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "session" where "user_id" = $1
  and "ended_at" is null and "expires_at" > now() order by "created_at" desc, "id" desc limit $2 offset $3;

prepare list_sessions_2 as
select "id", "created_at", "last_used_at", "user_agent", host(ip_address) as "ip_address", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "session" where "user_id" = $1
  and "ended_at" is null and "expires_at" > now() and (created_at,
  id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3::uuid) order by "created_at" desc, "id" desc
  limit $4 offset $5;

prepare list_sessions_3 as
select count(*) as count from (select from (select "id" from "session" where "user_id" = $1 and "ended_at" is null
  and "expires_at" > now()) as listed limit 10001) as counted;
