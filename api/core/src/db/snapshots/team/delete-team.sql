prepare delete_team_1 as
select "id", "name", "plan" from "workspace" where "id" = $1 and "personal_of" is null
  and "deleted_at" is null for no key update;

prepare delete_team_2 as
select "role" from "membership" where "workspace_id" = $1 and "user_id" = $2;

prepare delete_team_3 as
select open_singles + open_children as "openTasks",
       exists (select from subscription s
                where s.workspace_id = w.id and s.ended_at is null and not s.cancel_at_period_end) as subscribed,
       (select count(*) from payment_order o
         where o.workspace_id = w.id and o.status in ('pending', 'failed')) as "openOrders",
       (select count(*) from refund r where r.workspace_id = w.id and r.status = 'pending') as "openRefunds"
  from workspace w where id = $1;

prepare delete_team_4 as
select coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())),
  0) as available,
       coalesce(sum(held), 0) as held,
       coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())),
         0) + coalesce(sum(held), 0) as total,
       coalesce(sum(available) filter (where (expires_at is null or greatest(expires_at, grace_until) > now())
         and greatest(expires_at, grace_until) <= now() + $1 * interval '1 day'), 0) as "expiringSoon",
       now() + $2 * interval '1 day' as "soonUntil"
  from credit_lot where workspace_id = $3;

prepare delete_team_5 as
with part as materialized (
  select id, available as amount from credit_lot where workspace_id = $1 and has_available for update
), lot as (
  update credit_lot l set available = 0, expired = l.expired + part.amount from part where l.id = part.id
  returning l.id, part.amount
), entry as (
  insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
  select $2::uuid, id, 'available', 'expired', amount from lot
)
select coalesce(sum(amount), 0) as amount from lot;

prepare delete_team_6 as
update "api_key" set "revoked_at" = now() where "workspace_id" = $1 and "revoked_at" is null;

prepare delete_team_7 as
update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
 where status = 'pending' and endpoint_id in (
   select id from webhook_endpoint where workspace_id = $1 and deleted_at is null);

prepare delete_team_8 as
update webhook_endpoint
   set deleted_at = now(), secret_sealed = '', previous_secret_sealed = null, previous_until = null
 where workspace_id = $1 and deleted_at is null;

prepare delete_team_9 as
update "team_invite" set "ended_at" = now(), "ending" = $1 where "workspace_id" = $2 and "ended_at" is null;

prepare delete_team_10 as
update session s set workspace_id = w.id
  from workspace w
 where s.workspace_id = $1 and w.personal_of = s.user_id
   and s.user_id = coalesce($2::uuid, s.user_id) and s.ended_at is null;

prepare delete_team_11 as
delete from "membership" where "workspace_id" = $1;

prepare delete_team_12 as
update "provider_event" set "raw" = $1 where "workspace_id" = $2;

prepare delete_team_13 as
update "workspace" set "deleted_at" = now() where "id" = $1;
