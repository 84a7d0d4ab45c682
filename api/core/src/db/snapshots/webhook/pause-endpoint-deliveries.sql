prepare pause_endpoint_deliveries as
with waiting as materialized (
  select id from delivery
   where endpoint_id = $1 and status = 'pending' and claim is null
     and exists (select from webhook_endpoint where id = $2 and status = 'disabled')
   limit $3 for update skip locked
)
update delivery d
   set status = case d.event when $4 then 'canceled' else 'paused' end, completed_at = now()
  from waiting where d.id = waiting.id;
