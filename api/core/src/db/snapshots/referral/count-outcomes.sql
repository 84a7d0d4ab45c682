prepare count_outcomes as
select count(*) as invited, count(invited_id) as joined,
       count(*) filter (where status = 'rewarded') as rewarded,
       coalesce(sum(credits) filter (where status = 'rewarded'), 0) as "creditsEarned"
  from referral where referrer_id = $1;
