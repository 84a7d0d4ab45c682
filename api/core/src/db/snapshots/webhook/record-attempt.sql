prepare record_attempt as
with ended as (
  update delivery
     set status = $1, claim = null, claimed_until = null,
         due_at = case when $2 = 'pending' then now() - $3 * interval '1 ms' + $4 * interval '1 ms'
                       else due_at end,
         completed_at = case when $5 = 'pending' then null else now() end
   where id = $6 and claim = $7 and attempt = $8 and status = 'pending'
  returning id, status, endpoint_id
), recorded as (
  insert into delivery_attempt (delivery_id, attempt, at, duration_ms, status_code, error, response_body,
                                request_headers, response_headers)
  select id, $9::int, now() - $10 * interval '1 ms', $11::int, $12::int,
         $13::text, $14::text, $15::jsonb,
         $16::jsonb
    from ended
)
, shown as (
  update webhook_endpoint e
     set last_delivery_at = greatest(e.last_delivery_at, now() - $17 * interval '1 ms'),
         last_delivery_status = case when e.last_delivery_at >= now() - $18 * interval '1 ms' then e.last_delivery_status
                                     else $19 end,
         failing_since = case when e.failing_since is not null
           and e.failed_at > now() - $20 * interval '1 ms' then e.failed_at end,
           failing_notices = 0
    from ended
   where e.id = ended.endpoint_id
  returning e.id
), counted as (
insert into webhook_endpoint_hour as h (endpoint_id, slot, hour, succeeded, failed, duration_buckets)
select id, (extract(epoch from date_trunc('hour', now() - $21 * interval '1 ms',
  'UTC'))::bigint / 3600 % $22)::smallint, date_trunc('hour', now() - $23 * interval '1 ms', 'UTC'), $24::int, $25::int,
  $26::int[]
  from (select id from shown where $27::boolean) endpoint
on conflict (endpoint_id, slot) do update
   set hour = excluded.hour,
       succeeded = excluded.succeeded + case when h.hour = excluded.hour then h.succeeded else 0 end,
       failed = excluded.failed + case when h.hour = excluded.hour then h.failed else 0 end,
       duration_buckets = case when h.hour = excluded.hour then array(
         select a + b from unnest(h.duration_buckets, excluded.duration_buckets) with ordinality as u (a, b, n)
          order by n) else excluded.duration_buckets end
 where h.hour <= excluded.hour)
, forgotten as (
  update delivery_attempt a
     set response_body = null, request_headers = case when a.attempt > $28::int then a.request_headers end,
         response_headers = case when a.attempt > $29::int then a.response_headers end
    from ended
   where a.delivery_id = ended.id and a.attempt < $30::int
     and (a.response_body is not null or a.request_headers is not null and not a.attempt > $31::int)
)
select status from ended;
