prepare join_referred_1 as
select "id" from "app_user" where "referral_code" is not null and "referral_judged_at" is null
  and "email_verified_at" is not null and "erased_at" is null and id <> all($1::uuid[]) order by "email_verified_at"
  limit $2;

prepare join_referred_2 as
update "app_user" set "referral_judged_at" = now() where "id" = $1 and "referral_judged_at" is null
  returning "email_key", "referral_code";

prepare join_referred_3 as
select "u"."id" from "referral_code" as "c" inner join "app_user" as "u" on "u"."id" = "c"."user_id"
  where "c"."code" = upper(trim($1)) and "u"."erased_at" is null and "u"."disabled_at" is null;

prepare join_referred_4 as
  select exists (
    select from (
      select registered_from as ip, created_at as since, created_at as until from app_user where id = $1
      union all
      select ip_address, created_at, last_used_at from session where user_id = $2
    ) known
     where 
network(set_masklen(known.ip, case when family(known.ip) = 4 then 24
                                     when known.ip << '::ffff:0.0.0.0/96' then 120 else 48 end)) = 
network(set_masklen(u.registered_from, case when family(u.registered_from) = 4 then 24
                                     when u.registered_from << '::ffff:0.0.0.0/96' then 120 else 48 end))
       and u.created_at between since - interval '1 hour' and until + interval '1 hour'
  ) as nearby
    from app_user u where u.id = $3;

prepare join_referred_5 as
update "referral" set "invited_id" = $1, "email" = $2, "email_key" = $3, "status" = $4, "joined_at" = now(),
  "check_at" = now(), "suspicion" = $5 where "referrer_id" = $6 and "status" = $7 and "email_key" = $8 returning "id";

prepare join_referred_6 as
insert into "referral" ("invited_id", "email", "email_key", "status", "joined_at", "check_at", "suspicion",
  "referrer_id") values ($1, $2, $3, $4, now(), now(), $5, $6) on conflict ("invited_id") do nothing;
