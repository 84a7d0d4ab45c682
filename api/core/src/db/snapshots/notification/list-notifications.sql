prepare list_notifications_1 as
select "id", "type", "title", "body", "data", "read_at", "created_at", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "notification" where "user_id" = $1
  order by "created_at" desc, "id" desc limit $2 offset $3;

prepare list_notifications_2 as
select count(*) as count from (select from (select "id" from "notification" where "user_id" = $1) as listed
  limit 10001) as counted;

prepare list_notifications_3 as
select "id", "type", "title", "body", "data", "read_at", "created_at", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "notification" where "user_id" = $1
  and "read_at" is null and (created_at, id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3::uuid)
  order by "created_at" desc, "id" desc limit $4 offset $5;

prepare list_notifications_4 as
select count(*) as count from (select from (select "id" from "notification" where "user_id" = $1
  and "read_at" is null) as listed limit 10001) as counted;

prepare list_notifications_5 as
select count(*) as count from (select from (select "id" from "notification" where "user_id" = $1
  and "read_at" is null) as listed limit 10001) as counted;
