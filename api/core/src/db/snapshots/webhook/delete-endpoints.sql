prepare delete_endpoints as
with gone as (
  update webhook_endpoint
     set deleted_at = now(), secret_sealed = '', previous_secret_sealed = null, previous_until = null
   where workspace_id = $1 and deleted_at is null
  returning id
)
update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
 where endpoint_id in (select id from gone) and status = 'pending';
