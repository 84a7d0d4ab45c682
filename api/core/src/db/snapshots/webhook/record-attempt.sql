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
), recorded as (
  insert into delivery_attempt (delivery_id, attempt, at, duration_ms, status_code, error, response_body)
  select id, $13::int, now() - $14 * interval '1 ms', $15::int, $16::int,
         $17::text, $18::text
    from ended
), forgotten as (
  -- Keeps only the latest response of a delivery, so a receiver cannot fill the disk.
  update delivery_attempt a set response_body = null
    from ended where a.delivery_id = ended.id and a.attempt < $19::int and a.response_body is not null
)
select status from ended;
