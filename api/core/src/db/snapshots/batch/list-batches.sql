prepare list_batches_1 as
select *, (extract(epoch from created_at) * 1000000)::bigint::text as "created_at_micros" from "batch"
  where "workspace_id" = $1 order by "created_at" desc, "id" desc limit $2 offset $3;

prepare list_batches_2 as
select *, (extract(epoch from created_at) * 1000000)::bigint::text as "created_at_micros" from "batch"
  where "workspace_id" = $1 and (created_at, id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3::uuid)
  order by "created_at" desc, "id" desc limit $4 offset $5;

prepare list_batches_3 as
select count(*) as count from (select from (select "id" from "batch" where "workspace_id" = $1) as listed
  limit 10001) as counted;
