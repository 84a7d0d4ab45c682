prepare list_own_1 as
select *, (extract(epoch from created_at) * 1000000)::bigint::text as "createdAtMicros" from "payment_order"
  where workspace_id = $1
   
 order by created_at desc, id desc limit $2 offset $3;

prepare list_own_2 as
select count(*) as count from (select from (select from "payment_order" where workspace_id = $1) as listed
  limit 10001) as counted;

prepare list_own_3 as
select *, (extract(epoch from created_at) * 1000000)::bigint::text as "createdAtMicros" from "payment_order"
  where workspace_id = $1
   and (created_at, id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3::uuid)
 order by created_at desc, id desc limit $4 offset $5;

prepare list_own_4 as
select count(*) as count from (select from (select from "payment_order" where workspace_id = $1) as listed
  limit 10001) as counted;
