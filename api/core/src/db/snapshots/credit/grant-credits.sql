prepare grant_credits_1 as
with lot as (
  insert into credit_lot (workspace_id, kind, granted, available, expires_at, priority, source)
  select id, $1, $2::int, $3::int, $4::timestamptz, $5::int, $6::text
    from workspace where id = $7
  on conflict (workspace_id, source) where source is not null do nothing
  returning id, workspace_id
), entry as (
  insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
  select workspace_id, id, 'source', 'available', $8::int from lot
)
select id as "lotId" from lot;

prepare grant_credits_2 as
select "id" as "lotId", "granted", "kind" from "credit_lot" where "workspace_id" = $1 and "source" = $2;
