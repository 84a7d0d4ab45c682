prepare announce_low_balances_1 as
select "workspace_id" as "id" from "credit_low_balance" where workspace_id <> all($1::uuid[]) order by "at" limit $2;

prepare announce_low_balances_2 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare announce_low_balances_3 as
delete from "credit_low_balance" where "workspace_id" = $1 returning "workspace_id";

prepare announce_low_balances_4 as
select coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())),
  0) as available,
       coalesce(sum(held), 0) as held,
       coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())),
         0) + coalesce(sum(held), 0) as total,
       coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())
         and greatest(expires_at, grace_until) <= now() + $1 * interval '1 day'), 0) as "expiringSoon",
       now() + $2 * interval '1 day' as "soonUntil"
  from credit_lot where workspace_id = $3;

prepare announce_low_balances_5 as
update "workspace" set "low_balance_armed" = $1 where "id" = $2 and "low_balance_armed" = $3
  and "low_balance_below" > $4 returning "low_balance_below" as "threshold";
