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
select r.referrer_id as "referrerId", own.id as "workspaceId", r.suspicion,
       coalesce(own.payment_fingerprint = invited.payment_fingerprint, false) as "samePayer",
       exists (select from payment_order o where o.workspace_id = invited.id
                  and o.status in ('paid', 'partially_refunded')) as "hasBought"
  from referral r
  left join workspace own on own.personal_of = r.referrer_id
  left join workspace invited on invited.personal_of = r.invited_id
 where r.id = $1;

prepare reward_referrals_3 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare reward_referrals_4 as
select decided_at + $1 * interval '1 day' as "until" from "referral" where "referrer_id" = $2 and "status" = $3
  and "decided_at" > now() - $4 * interval '1 day' order by "decided_at" desc limit $5 offset $6;

prepare reward_referrals_5 as
update "referral" set "status" = $1, "suspicion" = $2, "credits" = $3, "check_at" = $4, "decided_at" = now()
  where "id" = $5 and "status" = $6 returning "status";
