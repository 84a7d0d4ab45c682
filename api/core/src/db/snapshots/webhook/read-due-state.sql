prepare read_due_state as
select count(*) as waiting,
       coalesce(extract(epoch from now() - min(due_at)) * 1000, 0)::float8 as "oldestDueAgeMs",
       (select extract(epoch from min(due_at) - now()) * 1000 from delivery
         where status = 'pending' and due_at > now())::float8 as "nextDueInMs"
  from (select due_at from delivery
         where status = 'pending' and due_at <= now() and (claim is null or claimed_until <= now())
         order by due_at limit $1) due;
