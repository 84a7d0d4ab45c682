prepare record_attempt as
with ended as (
  update delivery
     set status = $1, claim = null, claimed_until = null,
         due_at = case when $2 = 'pending' then now() - $3 * interval '1 ms' + $4 * interval '1 ms'
                       else due_at end,
         completed_at = case when $5 = 'pending' then null else now() end
   where id = $6 and claim = $7 and attempt = $8 and status = 'pending'
  returning id, status, endpoint_id
), shown as (
  update webhook_endpoint e
     set last_delivery_at = greatest(e.last_delivery_at, now() - $9 * interval '1 ms'),
         last_delivery_status = case when e.last_delivery_at >= now() - $10 * interval '1 ms' then e.last_delivery_status
                                     else $11 end,
         failing_since = case when e.failing_since is not null
           and e.failed_at > now() - $12 * interval '1 ms' then e.failed_at end,
           failing_notices = 0
    from ended
   where e.id = ended.endpoint_id
  returning e.id
), counted as (
  
insert into webhook_endpoint_hour as h (endpoint_id, slot, hour, succeeded, failed, duration_buckets)
select id, (extract(epoch from date_trunc('hour', now() - $13 * interval '1 ms',
  'UTC'))::bigint / 3600 % $14)::smallint, date_trunc('hour', now() - $15 * interval '1 ms', 'UTC'), $16::int, $17::int,
  $18::int[]
  from (select id from shown where $19::boolean) endpoint
on conflict (endpoint_id, slot) do update
   set hour = excluded.hour,
       succeeded = excluded.succeeded + case when h.hour = excluded.hour then h.succeeded else 0 end,
       failed = excluded.failed + case when h.hour = excluded.hour then h.failed else 0 end,
       duration_buckets = case when h.hour = excluded.hour then array(
         select a + b from unnest(h.duration_buckets, excluded.duration_buckets) with ordinality as u (a, b, n)
          order by n) else excluded.duration_buckets end
 where h.hour <= excluded.hour
), recorded as (
  insert into delivery_attempt (delivery_id, attempt, at, duration_ms, status_code, error, response_body,
                                request_headers, response_headers)
  select id, $20::int, now() - $21 * interval '1 ms', $22::int, $23::int,
         $24::text, $25::text, $26::jsonb,
         $27::jsonb
    from ended
), forgotten as (
  -- Keeps only the latest body, and the headers of the attempts that are shown, so a receiver cannot fill the disk.
  update delivery_attempt a
     set response_body = null, request_headers = case when a.attempt > $28::int then a.request_headers end,
         response_headers = case when a.attempt > $29::int then a.response_headers end
    from ended
   where a.delivery_id = ended.id and a.attempt < $30::int
     and (a.response_body is not null or a.request_headers is not null and not a.attempt > $31::int)
)
select status from ended;
