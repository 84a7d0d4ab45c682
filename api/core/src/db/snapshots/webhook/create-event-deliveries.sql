prepare create_event_deliveries as
with streamed as (
insert into streamed_event (workspace_id, event, event_key, body)
select workspace_id, $1::text, $2::text, $3::text from webhook_stream
 where workspace_id = $4::uuid and kept_until > now() and true
on conflict do nothing), delivery as (
with live as (
  select id, target_href, target_host, created_at,
         case status when 'enabled' then 'pending' else 'paused' end as status,
         cardinality(event_types) = 0 or $5 = any(event_types)
           or $6 = any(event_types) as subscribed
    from webhook_endpoint
   where workspace_id = $7 and deleted_at is null and true
), same as (
  -- Prefers a subscribed endpoint, so the target gets the event once.
  select id from live where target_href = $8::text and status = 'pending'
   order by subscribed desc, created_at, id limit 1
), target (id, target_url, target_host, status) as (
  select id, target_href, target_host, status from live
   where id in (select id from same)
      or subscribed and (status = 'pending' or target_href is distinct from $9::text)
  union all
  select null, $10::text, $11::text, 'pending'
   where $12::text is not null and not exists (select from same) and true
)
insert into delivery (workspace_id, task_id, run, batch_id, event_key, event, endpoint_id, target_url, target_host,
                      body, traceparent, status, completed_at)
select $13::uuid, $14::uuid, $15::int,
       $16::uuid, $17::text, $18, id, target_url, target_host,
       $19, $20::text, status,
       case status when 'paused' then now() end
  from target
on conflict do nothing)
select;
