prepare list_changes_1 as
select "e"."id", "e"."at", "e"."action", "e"."target", "e"."user_id" as "actorId", "e"."request_id" as "requestId",
  case when u.erased_at is null then coalesce(u.name, u.email) end as "actorName", e.details ->> 'reason' as "reason",
  host(e.ip_address) as "ipAddress", (extract(epoch from e.at) * 1000000)::bigint::text as "atMicros"
  from "audit_entry" as "e" left join "app_user" as "u" on "u"."id" = "e"."user_id" where "e"."workspace_id" = $1
  and "e"."at" >= $2 and "e"."at" < $3 order by "e"."at" desc, "e"."id" desc limit $4 offset $5;

prepare list_changes_2 as
select "e"."id", "e"."at", "e"."action", "e"."target", "e"."user_id" as "actorId", "e"."request_id" as "requestId",
  case when u.erased_at is null then coalesce(u.name, u.email) end as "actorName", e.details ->> 'reason' as "reason",
  host(e.ip_address) as "ipAddress", (extract(epoch from e.at) * 1000000)::bigint::text as "atMicros"
  from "audit_entry" as "e" left join "app_user" as "u" on "u"."id" = "e"."user_id" where "e"."workspace_id" = $1
  and "e"."at" >= $2 and "e"."at" < $3 and (e.at, e.id) < (to_timestamp(0) + $4::bigint * interval '1 microsecond',
  $5::uuid) order by "e"."at" desc, "e"."id" desc limit $6 offset $7;

prepare list_changes_3 as
select count(*) as count from (select from (select "e"."id" from "audit_entry" as "e" where "e"."workspace_id" = $1
  and "e"."at" >= $2 and "e"."at" < $3) as listed limit 10001) as counted;
