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
     set last_delivery_at = now() - $9 * interval '1 ms', last_delivery_status = $10,
         failing_since = null, failing_notices = 0
    from ended
   where e.id = ended.endpoint_id and (e.last_delivery_at is null or e.last_delivery_at < now() - $11 * interval '1 ms')
), recorded as (
  insert into delivery_attempt (delivery_id, attempt, at, duration_ms, status_code, error, response_body)
  select id, $12::int, now() - $13 * interval '1 ms', $14::int, $15::int,
         $16::text, $17::text
    from ended
), forgotten as (
  -- Of a delivery only its latest answer is kept, or a receiver could fill the disk with thirteen of each.
  update delivery_attempt a set response_body = null
    from ended where a.delivery_id = ended.id and a.attempt < $18::int and a.response_body is not null
)
select status from ended;
