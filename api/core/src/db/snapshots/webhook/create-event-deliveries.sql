prepare create_event_deliveries as
with live as (
  select id, target_href, target_host, created_at,
         case status when 'enabled' then 'pending' else 'paused' end as status,
         cardinality(event_types) = 0 or $1 = any(event_types)
           or $2 = any(event_types) as subscribed
    from webhook_endpoint
   where workspace_id = $3 and deleted_at is null and true
), same as (
  -- Prefers a subscribed endpoint, so the target gets the event once.
  select id from live where target_href = $4::text and status = 'pending'
   order by subscribed desc, created_at, id limit 1
), target (id, target_url, target_host, status) as (
  select id, target_href, target_host, status from live
   where id in (select id from same)
      or subscribed and (status = 'pending' or target_href is distinct from $5::text)
  union all
  select null, $6::text, $7::text, 'pending'
   where $8::text is not null and not exists (select from same) and true
)
insert into delivery (workspace_id, task_id, run, batch_id, event_key, event, endpoint_id, target_url, target_host,
                      body, traceparent, status, completed_at)
select $9::uuid, $10::uuid, $11::int,
       $12::uuid, $13::text, $14, id, target_url, target_host,
       $15, $16::text, status,
       case status when 'paused' then now() end
  from target
on conflict do nothing;
