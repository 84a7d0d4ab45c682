prepare reward_referrals_1 as
with due as materialized (
  select r.id, exists (select from workspace w join usage_day d on d.workspace_id = w.id
                        where w.personal_of = r.invited_id and d.succeeded > 0) as succeeded
    from referral r
   where r.check_at <= now() and r.id <> all($1::uuid[])
   order by r.check_at limit $2
     for update of r skip locked
), later as (
  update referral r
     set check_at = now() + least(greatest((now() - r.joined_at) * 0.1, interval '5 s'), interval '1 hour')
    from due where due.id = r.id and not due.succeeded
)
select id from due where succeeded;

prepare reward_referrals_2 as
select r.referrer_id as "referrerId", own.id as "workspaceId",
       coalesce(own.payment_fingerprint = invited.payment_fingerprint, false) as "samePayer"
  from referral r
  left join workspace own on own.personal_of = r.referrer_id
  left join workspace invited on invited.personal_of = r.invited_id
 where r.id = $1;

prepare reward_referrals_3 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare reward_referrals_4 as
update "referral" set "status" = case when suspicion is not null or $1 then 'review' else 'rewarded' end,
  "suspicion" = coalesce(suspicion, case when $2 then 'payment' end), "credits" = $3, "check_at" = $4,
  "decided_at" = case when suspicion is null and not $5 then now() end where "id" = $6 and "status" = $7
  returning "status";
