prepare read_attempt_hours as
select shown.hour, coalesce(h.succeeded, 0) as succeeded, coalesce(h.failed, 0) as failed,
       coalesce(h.duration_buckets, '{}') as buckets
  from generate_series(date_trunc('hour', now(), 'UTC') - ($1::int - 1) * interval '1 hour', date_trunc('hour', now(),
    'UTC'),
                       interval '1 hour') as shown (hour)
  left join webhook_endpoint_hour h
    on h.endpoint_id = $2 and h.slot = (extract(epoch from shown.hour)::bigint / 3600 % $3)::smallint
      and h.hour = shown.hour
 order by shown.hour;
