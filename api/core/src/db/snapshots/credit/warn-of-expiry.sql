prepare warn_of_expiry_1 as
select "id", "workspace_id" as "workspaceId" from "credit_lot" where "has_available" = $1 and "warn_at" <= now()
  and id <> all($2::uuid[]) order by "warn_at" limit $3;

prepare warn_of_expiry_2 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare warn_of_expiry_3 as
with lot as (
  update credit_lot l set warn_at = null from workspace w
   where l.id = $1 and l.has_available and l.warn_at <= now() and w.id = l.workspace_id
  returning l.id, l.available as credits, l.expires_at as "expiresAt", w.expiry_days_before as days
), warning as (
  insert into credit_expiry_warning (lot_id, days) select id, days from lot where "expiresAt" > now()
  on conflict do nothing
  returning lot_id
)
select lot.* from lot join warning on warning.lot_id = lot.id;
