prepare read_samples_1 as
select coalesce(sum(h.amount), 0)::float8 as held
  from (select id, run from task where (status in ('queued', 'processing') and queued_at < 'infinity')
         order by queued_at limit (select $1::int)) t
 cross join lateral (
    select sum(amount) as amount from credit_hold
     where task_id = t.id and run = t.run and state = 'open') h;

prepare read_samples_2 as
select what, greatest(0, coalesce(extract(epoch from now() - since), 0))::float8 as seconds
  from (values
    ('order', (select check_at from payment_order where check_at is not null order by check_at limit 1)),
    ('subscription', (select check_at from subscription where check_at is not null order by check_at limit 1)),
    ('dispute', (select check_at from payment_dispute where check_at is not null order by check_at limit 1)),
    ('refund', (select min(created_at) from (
       select created_at from refund where check_at is not null order by check_at limit $1) r))
  ) as oldest (what, since);

prepare read_samples_3 as
select what, greatest(0, coalesce(extract(epoch from now() - due), 0))::float8 as seconds
  from (values
    ('uploads', (select created_at + $1 * interval '1 hour' from upload
                  where used_at is null and deleted_at is null order by created_at limit 1)),
    ('objects', (select due_at from object_deletion order by due_at limit 1)),
    ('credits', (select greatest(expires_at, grace_until) from credit_lot
                  where has_available and greatest(expires_at, grace_until) <= now()
                  order by greatest(expires_at, grace_until) limit 1))) as oldest (what, due);

prepare read_samples_4 as
select 'tasks' as what, greatest(0, coalesce(extract(epoch from now() - least(
         (select min(t.completed_at + p.seconds * interval '1 second')
            from workspace w
           cross join lateral (
select p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds) is not null as chosen,
       least(p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds)) as seconds
  from unnest($1::text[], $2::float8[],
              $3::float8[]) as p (plan, plan_seconds, default_seconds)
 where p.plan = w.plan) p
           cross join lateral (
              select completed_at from task
               where workspace_id = w.id and completed_at is not null and delete_at is null
               order by completed_at limit 1) t
           where w.retention_at <= now()),
         (select delete_at from task where delete_at is not null order by delete_at limit 1))), 0))::float8
         as seconds;

prepare read_samples_5 as
with free as materialized (
  select w.id
    from workspace w join unnest($1::text[], $2::int[]) as p (plan, concurrent) on p.plan = w.plan
   where w.waiting and w.processing < p.concurrent limit $3
), lapsed as materialized (
  select model_version, count(*) as tasks, min(greatest(due_at, claimed_until)) as since
    from task
   where status = 'processing' and due_at <= now() and (claimed_until is null or claimed_until <= now())
   group by model_version
), asked as (
  select name from model union select $4 order by name limit $5
)
select a.name as "modelVersion",
       least(single.tasks + child.tasks + coalesce(lapsed.tasks, 0), (select $6::int))::int as waiting,
       greatest(0, coalesce(extract(epoch from now() - least(single.since, head.since, lapsed.since)), 0))::float8
         as "oldestSeconds"
  from asked a
 cross join lateral (
    select count(*) as tasks, min(q.queued_at) filter (where free.id is not null) as since
      from (select t.queued_at, t.workspace_id from task t
             where t.status = 'queued' and (t.batch_id is null or t.run > 1) and t.model_version = a.name
             order by t.queued_at limit (select $7::int)) q
      left join free on free.id = q.workspace_id) single
 cross join lateral (
    select count(*) as tasks
      from (select from task t
             where t.status = 'queued' and t.batch_id is not null and t.run = 1 and t.model_version = a.name
             limit (select $8::int)) q) child
 cross join lateral (
    select min(oldest.queued_at) as since
      from free cross join lateral (
        select t.queued_at from task t
         where t.workspace_id = free.id and t.status = 'queued' and (t.batch_id is not null)
           and t.model_version = a.name
         order by t.queued_at limit 1) oldest) head
  left join lapsed on lapsed.model_version = a.name;
