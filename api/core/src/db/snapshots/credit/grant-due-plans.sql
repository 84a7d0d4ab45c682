prepare grant_due_plans_1 as
select "id" from "workspace" where "plan_credits_due_at" <= now() and "deleted_at" is null and id <> all($1::uuid[])
  order by "plan_credits_due_at" limit $2;

prepare grant_due_plans_2 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare grant_due_plans_3 as
select date_trunc('month', now(), 'UTC') as start,
       date_trunc('month', now(), 'UTC') + interval '1 month' as end,
       exists (select from subscription
                where workspace_id = $1 and in_force) as subscribed;

prepare grant_due_plans_4 as
update "workspace" set "plan_credits_due_at" = $1 where "id" = $2;

prepare grant_due_plans_5 as
select "id" from "credit_lot" where "workspace_id" = $1 and "source" = $2;

prepare grant_due_plans_6 as
with owner as materialized (
  select id, expiry_days_before, low_balance_armed, low_balance_below from workspace where id = $1 for no key update
), lot as (
  insert into credit_lot (workspace_id, kind, granted, available, expires_at, warn_at, priority, source)
  select id, $2, $3::int, $4::int, $5::timestamptz,
         $6::timestamptz - expiry_days_before * interval '1 day', $7::int, $8::text
    from owner
  on conflict (workspace_id, source) where source is not null do nothing
  returning id, workspace_id
), entry as (
  insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available, adjustment_id)
  select workspace_id, id, 'source', 'available', $9::int, $10::int, $11::uuid from lot
), armed as (
  update workspace w set low_balance_armed = true from owner
   where w.id = owner.id and not owner.low_balance_armed and exists (select from lot)
     and owner.low_balance_below <= $12::int + (
       select coalesce(sum(available), 0) from credit_lot
        where workspace_id = owner.id and has_available and (disputed is null
          and (expires_at is null or greatest(expires_at, grace_until) > now())))
)
select id as "lotId" from lot;

prepare grant_due_plans_7 as
select "id" as "lotId", "granted", "kind" from "credit_lot" where "workspace_id" = $1 and "source" = $2;
