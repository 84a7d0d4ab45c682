prepare erase_account_1 as
select w.id from workspace w where w.id in (select workspace_id from membership where user_id = $1)
 order by w.id for no key update of w;

prepare erase_account_2 as
select "email" from "app_user" where "id" = $1 and "erased_at" is null for no key update;

prepare erase_account_3 as
delete from "mfa_token" where "user_id" = $1;

prepare erase_account_4 as
select "user_id" from "two_factor" where "user_id" = $1 and "enabled_at" is not null;

prepare erase_account_5 as
select own.workspace_id as id, own.role, count(o.user_id) as others,
       count(o.user_id) filter (where o.role = 'owner' and u.disabled_at is null and u.erased_at is null) as owners
  from membership own
  left join membership o on o.workspace_id = own.workspace_id and o.user_id <> own.user_id
  left join app_user u on u.id = o.user_id
 where own.user_id = $1 and own.workspace_id = any($2::uuid[])
 group by own.workspace_id, own.role order by own.workspace_id;

prepare erase_account_6 as
select (select count(*) from payment_order
         where workspace_id = any($1::uuid[]) and status in ('pending', 'failed')) as "openOrders",
       (select count(*) from refund
         where workspace_id = any($2::uuid[]) and status = 'pending') as "openRefunds";

prepare erase_account_7 as
update invoice set buyer = '{"name": "deleted", "addressLines": [], "taxId": null, "email": null}'
 where workspace_id in (select w.id from workspace w where 
w.id = any($1::uuid[]) or w.personal_of = $2 or
(w.created_by = $3 and w.deleted_at is not null))
returning id, issued_at;

prepare erase_account_8 as
insert into object_deletion (object_key, due_at)
select key, now() + interval '1 hour' from unnest($1::text[]) as key
on conflict do nothing;

prepare erase_account_9 as
update provider_event set raw = ''
 where raw <> '' and workspace_id in (select w.id from workspace w where 
w.id = any($1::uuid[]) or w.personal_of = $2 or
(w.created_by = $3 and w.deleted_at is not null));

prepare erase_account_10 as
update workspace w set billing = null where 
    w.id = any($1::uuid[]) or w.personal_of = $2 or
    (w.created_by = $3 and w.deleted_at is not null) and w.billing is not null;

prepare erase_account_11 as
update "free_credit" set "user_id" = $1, "forget_at" = now() + $2 * interval '1 month' where "user_id" = $3;

prepare erase_account_12 as
select "l"."id" from "credit_lot" as "l" inner join "workspace" as "w" on "w"."id" = "l"."workspace_id"
  where "w"."personal_of" = $1 and "l"."source" = $2;

prepare erase_account_13 as
update workspace
   set deleted_at = now(), name = 'deleted', personal_of = null, callback_secret_sealed = null,
       previous_callback_secret_sealed = null, previous_callback_until = null, billing = null,
       payment_fingerprint = null
 where id = $1;

prepare erase_account_14 as
update api_key set revoked_at = coalesce(revoked_at, now()), name = 'deleted' where workspace_id = $1;

prepare erase_account_15 as
delete from "team_invite" where "workspace_id" = $1;

prepare erase_account_16 as
update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
 where workspace_id = $1 and status = 'pending';

prepare erase_account_17 as
update webhook_endpoint
   set deleted_at = coalesce(deleted_at, now()), secret_sealed = '', previous_secret_sealed = null,
       previous_until = null, description = null, target_url = $1, target_href = $2
 where workspace_id = $3;

prepare erase_account_18 as
update api_key set revoked_at = now() where created_by = $1 and revoked_at is null;

prepare erase_account_19 as
delete from "membership" where "user_id" = $1;

prepare erase_account_20 as
delete from "session" where "user_id" = $1;

prepare erase_account_21 as
delete from "login_event" where "user_id" = $1;

prepare erase_account_22 as
update "audit_entry" set "ip_address" = null where "user_id" = $1;

prepare erase_account_23 as
delete from "email_change" where "user_id" = $1;

prepare erase_account_24 as
delete from "personal_idempotency_record" where "user_id" = $1;

prepare erase_account_25 as
delete from "mfa_token" where "user_id" = $1;

prepare erase_account_26 as
delete from "mail_token" where "user_id" = $1;

prepare erase_account_27 as
delete from "recovery_code" where "user_id" = $1;

prepare erase_account_28 as
delete from "two_factor" where "user_id" = $1;

prepare erase_account_29 as
delete from "mail" where "user_id" = $1;

prepare erase_account_30 as
delete from "mail" where "to_key" = $1;

prepare erase_account_31 as
delete from "notification" where "user_id" = $1;

prepare erase_account_32 as
delete from "notification_preference" where "user_id" = $1;

prepare erase_account_33 as
delete from "referral" where "referrer_id" = $1;

prepare erase_account_34 as
delete from "referral" where "email_key" = $1;

prepare erase_account_35 as
delete from "referral_code" where "user_id" = $1;

prepare erase_account_36 as
update "task_event" set "for_user" = null where "for_user" = $1;

prepare erase_account_37 as
delete from "notification_due" where "user_id" = $1;

prepare erase_account_38 as
delete from "account_request" where "email_key" = $1;

prepare erase_account_39 as
delete from "registration_invite" where "email" = $1;

prepare erase_account_40 as
delete from "team_invite" where "email_key" = $1;

prepare erase_account_41 as
delete from "login_failure" where "account" = $1;

prepare erase_account_42 as
update app_user
   set email = 'erased-' || id || '@erased.invalid', email_key = null, email_verified_at = null,
       password_hash = null, name = null, locale = default, time_zone = default, avatar_url = null,
       referral_code = null, registered_from = null, erased_at = now()
 where id = $1;
