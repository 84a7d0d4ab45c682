prepare list_tasks_1 as
select "id", "batch_id", "status", "model_version", "source_key", "callback_url", "credit_cost", "retry_count",
  "started_at", "completed_at", "failure_reason", "failure_message", "result_key", "result_format", "width", "height",
  "foreground", "confidence", "charge", "retention_seconds", "erased_at", "created_at", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "task" where "id" in (select "id" from "task"
  where "workspace_id" = (select $1::uuid) and "status" = $2 and "created_at" >= $3 and "created_at" < $4
  order by "created_at" desc, "id" desc limit $5 offset $6) order by "created_at" desc, "id" desc limit $7;

prepare list_tasks_2 as
select "id", "batch_id", "status", "model_version", "source_key", "callback_url", "credit_cost", "retry_count",
  "started_at", "completed_at", "failure_reason", "failure_message", "result_key", "result_format", "width", "height",
  "foreground", "confidence", "charge", "retention_seconds", "erased_at", "created_at", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "task" where "workspace_id" = (select $1::uuid)
  and "status" = $2 and "created_at" >= $3 and "created_at" < $4 and (created_at,
  id) < (to_timestamp(0) + $5::bigint * interval '1 microsecond', $6::uuid) order by "created_at" desc, "id" desc
  limit $7;

prepare list_tasks_3 as
select count(*) as count from (select from (select "id" from "task" where "workspace_id" = (select $1::uuid)
  and "status" = $2 and "created_at" >= $3 and "created_at" < $4) as listed limit 10001) as counted;
