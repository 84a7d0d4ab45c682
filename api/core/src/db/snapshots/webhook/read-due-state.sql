prepare read_due_state as
select least(count(*), (select $1::int))::int as waiting,
       coalesce(extract(epoch from now() - min(due_at)) * 1000, 0)::float8 as "oldestDueAgeMs",
       (select extract(epoch from coalesce(claimed_until, due_at) - now()) * 1000 from delivery
         where status = 'pending' and not ready and coalesce(claimed_until, due_at) > now()
         order by coalesce(claimed_until, due_at) limit 1)::float8 as "nextDueInMs"
  from ((select due_at from delivery
          where status = 'pending' and ready and due_at <= now()
          order by due_at limit (select $2::int))
        union all
        (select due_at from delivery
          where status = 'pending' and not ready and coalesce(claimed_until, due_at) <= now()
          order by coalesce(claimed_until, due_at) limit (select $3::int))) due;
