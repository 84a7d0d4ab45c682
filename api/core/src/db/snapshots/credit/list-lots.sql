prepare list_lots_1 as
select "id", "kind", "priority", "expires_at", "created_at", "granted", "available", "held", "spent", "expired",
  "refunded", "adjusted", greatest(expires_at, grace_until) as "endsAt", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "credit_lot" where "workspace_id" = $1
  order by "created_at" desc, "id" desc limit $2 offset $3;

prepare list_lots_2 as
select "id", "kind", "priority", "expires_at", "created_at", "granted", "available", "held", "spent", "expired",
  "refunded", "adjusted", greatest(expires_at, grace_until) as "endsAt", (extract(epoch
  from created_at) * 1000000)::bigint::text as "created_at_micros" from "credit_lot" where "workspace_id" = $1
  and (created_at, id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3::uuid) order by "created_at" desc,
  "id" desc limit $4 offset $5;

prepare list_lots_3 as
select count(*) as count from (select from (select "id" from "credit_lot" where "workspace_id" = $1) as listed
  limit 10001) as counted;
