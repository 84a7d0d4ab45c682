prepare claim_due_mails_1 as
with due as materialized (
  select id, claim is not null as lapsed, u.locale, u.time_zone, coalesce(u.is_erased, false) as is_erased
    from mail
    left join lateral (
      select locale, time_zone, erased_at is not null as is_erased from app_user where app_user.id = mail.user_id
    ) u on true
   where status = 'pending' and template <> 'notification' and coalesce(claimed_until, due_at) <= now()
   order by coalesce(claimed_until, due_at) limit $1::int for update of mail skip locked
), dropped as (
  delete from mail m using due where m.id = due.id and due.is_erased
)
update mail m
   set attempt = m.attempt + (m.claim is null)::int, claim = gen_random_uuid(),
       claimed_until = clock_timestamp() + $2 * interval '1 ms'
  from due where m.id = due.id and not due.is_erased
returning m.id, m.claim, m.to_address as "to", m.template, m.data_sealed as "dataSealed", m.attempt,
          clock_timestamp() as "claimedAt", due.lapsed as "takenOver",
          coalesce(due.locale, $3) as "locale", coalesce(due.time_zone, $4) as "timeZone";

prepare claim_due_mails_2 as
with due as materialized (
  select id, claim is not null as lapsed, u.locale, u.time_zone, coalesce(u.is_erased, false) as is_erased
    from mail
    left join lateral (
      select locale, time_zone, erased_at is not null as is_erased from app_user where app_user.id = mail.user_id
    ) u on true
   where status = 'pending' and template = 'notification' and coalesce(claimed_until, due_at) <= now()
   order by coalesce(claimed_until, due_at) limit $1::int for update of mail skip locked
), dropped as (
  delete from mail m using due where m.id = due.id and due.is_erased
)
update mail m
   set attempt = m.attempt + (m.claim is null)::int, claim = gen_random_uuid(),
       claimed_until = clock_timestamp() + $2 * interval '1 ms'
  from due where m.id = due.id and not due.is_erased
returning m.id, m.claim, m.to_address as "to", m.template, m.data_sealed as "dataSealed", m.attempt,
          clock_timestamp() as "claimedAt", due.lapsed as "takenOver",
          coalesce(due.locale, $3) as "locale", coalesce(due.time_zone, $4) as "timeZone";
