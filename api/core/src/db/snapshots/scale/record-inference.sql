prepare record_inference as
insert into inference_window as w (pool, at, revision, replica, done, failed, timed_out, unavailable, busy_seconds,
                                   ended, latency_buckets)
select pool, date_bin($1::int * interval '1 s', now(), timestamptz 'epoch'), revision,
       $2::text, done, failed, timed_out, unavailable, busy_seconds, ended, latency_buckets
  from jsonb_to_recordset($3::jsonb)
    as r (pool text, revision text, done int, failed int, timed_out int, unavailable int,
          busy_seconds double precision, ended int, latency_buckets int[])
 order by pool, revision
on conflict (pool, at, revision, replica) do update set
  done = w.done + excluded.done, failed = w.failed + excluded.failed,
  timed_out = w.timed_out + excluded.timed_out, unavailable = w.unavailable + excluded.unavailable,
  busy_seconds = w.busy_seconds + excluded.busy_seconds, ended = w.ended + excluded.ended,
  latency_buckets = (select array_agg(b.before + b.added order by b.place)
                       from unnest(w.latency_buckets, excluded.latency_buckets)
                            with ordinality as b (before, added, place));
