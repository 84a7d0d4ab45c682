prepare list_referrals_1 as
select "r"."id", "r"."status", "r"."credits", "r"."invited_at", "r"."joined_at", "r"."decided_at", "r"."created_at",
  case when r.invited_id is null then r.email else u.email end as "email", (extract(epoch
  from r.created_at) * 1000000)::bigint::text as "created_at_micros"
  from "referral" as "r" left join "app_user" as "u" on "u"."id" = "r"."invited_id" and "u"."erased_at" is null
  where "r"."referrer_id" = $1 order by "r"."created_at" desc, "r"."id" desc limit $2 offset $3;

prepare list_referrals_2 as
select "r"."id", "r"."status", "r"."credits", "r"."invited_at", "r"."joined_at", "r"."decided_at", "r"."created_at",
  case when r.invited_id is null then r.email else u.email end as "email", (extract(epoch
  from r.created_at) * 1000000)::bigint::text as "created_at_micros"
  from "referral" as "r" left join "app_user" as "u" on "u"."id" = "r"."invited_id" and "u"."erased_at" is null
  where "r"."referrer_id" = $1 and (r.created_at, r.id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond',
  $3::uuid) order by "r"."created_at" desc, "r"."id" desc limit $4 offset $5;

prepare list_referrals_3 as
select count(*) as count from (select from (select "id" from "referral" where "referrer_id" = $1) as listed
  limit 10001) as counted;
