prepare list_member_use_1 as
select "s"."user_id" as "userId", "u"."email", "u"."name", "s"."credit_limit" as "monthlyLimit", coalesce(m.used,
  0) as "used"
  from "membership" as "s" inner join "app_user" as "u" on "u"."id" = "s"."user_id" left join "member_credit_month" as "m" on "m"."workspace_id" = "s"."workspace_id"
  and "m"."user_id" = "s"."user_id" and m.month = date_trunc('month', now() at time zone 'utc')::date
  where "s"."workspace_id" = $1 order by "s"."created_at", "s"."user_id";

prepare list_member_use_2 as
select m at time zone 'utc' as start, (m + interval '1 month') at time zone 'utc' as "end"
  from date_trunc('month', now() at time zone 'utc') as m;
