prepare invite_by_mail_1 as
select "name", "email" from "app_user" where "id" = $1 for no key update;

prepare invite_by_mail_2 as
select "r"."id" from "referral" as "r" left join "app_user" as "u" on "u"."id" = "r"."invited_id"
  where "r"."referrer_id" = $1 and coalesce(r.email_key, u.email_key) = $2;

prepare invite_by_mail_3 as
select extract(epoch from invited_at + interval '1 day' - now())::int as "waitSeconds" from referral
 where referrer_id = $1 and invited_at > now() - interval '1 day'
 order by invited_at desc offset $2 limit 1;

prepare invite_by_mail_4 as
select count(*) as "count" from "referral" where email_key = $1 and invited_at > now() - interval '7 days';

prepare invite_by_mail_5 as
insert into mail_room as r (address, kind, spent_until)
values ($1, $2, clock_timestamp() + $3::float8 * interval '1 second')
on conflict (address, kind) do update
   set spent_until = greatest(r.spent_until, clock_timestamp()) + $4::float8 * interval '1 second'
 where r.spent_until <= clock_timestamp() + $5 * $6::float8 * interval '1 second'
returning true as taken;

prepare invite_by_mail_6 as
insert into "referral" ("referrer_id", "email", "email_key", "status", "invited_at") values ($1, $2, $3, $4, now())
  returning "id";
