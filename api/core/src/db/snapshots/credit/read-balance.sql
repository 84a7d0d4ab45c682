prepare read_balance as
select coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())),
  0) as available,
       coalesce(sum(held), 0) as held,
       coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())),
         0) + coalesce(sum(held), 0) as total,
       coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())
         and greatest(expires_at, grace_until) <= now() + $1 * interval '1 day'), 0) as "expiringSoon",
       now() + $2 * interval '1 day' as "soonUntil"
  from credit_lot where workspace_id = $3;
