prepare list_deliveries_1 as
select "id", "event", "endpoint_id", "task_id", "batch_id", "target_url", "body", "status", "attempt", "due_at",
  "claimed_until", "created_at", "completed_at", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "delivery" where "workspace_id" = $1
  and "endpoint_id" = $2 and status = 'exhausted' and "event" = $3 and (created_at,
  id) < (to_timestamp(0) + $4::bigint * interval '1 microsecond', $5::uuid) order by "created_at" desc, "id" desc
  limit $6 offset $7;

prepare list_deliveries_2 as
select a.* from unnest($1::uuid[]) as d (id) cross join lateral (
  select delivery_id, attempt, at, duration_ms, status_code, error, response_body
    from delivery_attempt where delivery_id = d.id
   order by attempt desc limit $2) a
 order by a.attempt;

prepare list_deliveries_3 as
select "id", "event", "endpoint_id", "task_id", "batch_id", "target_url", "body", "status", "attempt", "due_at",
  "claimed_until", "created_at", "completed_at", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "delivery" where "workspace_id" = $1
  and "endpoint_id" is null order by "created_at" desc, "id" desc limit $2 offset $3;

prepare list_deliveries_4 as
select count(*) as count from (select from (select "id" from "delivery" where "workspace_id" = $1 and "endpoint_id" = $2
  and status = 'exhausted' and "event" = $3) as listed limit 10001) as counted;
