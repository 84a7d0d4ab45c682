prepare delete_endpoints_1 as
update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
 where status = 'pending' and endpoint_id in (
   select id from webhook_endpoint where workspace_id = $1 and deleted_at is null);

prepare delete_endpoints_2 as
update webhook_endpoint
   set deleted_at = now(), secret_sealed = '', previous_secret_sealed = null, previous_until = null
 where workspace_id = $1 and deleted_at is null;
