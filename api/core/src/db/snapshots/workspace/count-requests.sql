prepare count_requests as
insert into rate_window as w (subject, minute, used, last_limit)
select subject, floor(extract(epoch from now()) / $1::int)::int, count, "limit"
  from unnest($2::text[], $3::int[], $4::int[]) as asked (subject, count, "limit")
 order by subject
on conflict (subject) do update set
  minute = case when (w.minute = excluded.minute or w.minute = excluded.minute + 1) then w.minute else excluded.minute end,
  used = case when (w.minute = excluded.minute or w.minute = excluded.minute + 1)
              then least(w.used, greatest(w.last_limit, excluded.last_limit)) else 0 end + excluded.used,
  last_limit = case when (w.minute = excluded.minute or w.minute = excluded.minute + 1) then greatest(w.last_limit,
    excluded.last_limit)
                    else excluded.last_limit end
returning subject, used, (minute + 1) * $5::bigint as "resetsAt",
          ((minute + 1) * $6::bigint - extract(epoch from clock_timestamp()))::float8 * 1000
            as "resetsInMs";
