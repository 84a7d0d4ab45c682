prepare claim_next_tasks as
with running as materialized (
  select 1 as yes where not exists (select from setting where name = 'dispatchPaused' and value = 'true')
), due as materialized (
  select id, claim is not null as lapsed from task where $1::boolean and status = 'processing'
    and model_version = any($2::text[])
     and due_at <= now() and (claimed_until is null or claimed_until <= now()) and attempt < $3 and exists (select
       from running)
   order by due_at limit $4::int
     for update skip locked
), seen_due as materialized (
  select 1 from task where $5::boolean and status = 'processing' and model_version = any($6::text[])
     and due_at <= now() and (claimed_until is null or claimed_until <= now()) and attempt < $7 and exists (select
       from running) limit 1
), limits as (
  select * from unnest($8::text[], $9::int[]) as p (plan, concurrent)
), seen as materialized (
  select w.id, w.processing, p.concurrent, row_number() over (order by w.processing, head.queued_at) as n
    from workspace w
    join limits p on p.plan = w.plan
   cross join lateral (
     select queued_at from task q
      where q.workspace_id = w.id and q.status = 'queued' and q.model_version = any($10::text[])
      order by (q.batch_id is not null), q.queued_at, q.id limit 1
   ) head
   where w.waiting and w.processing < p.concurrent
     and exists (select from running) and not exists (select from seen_due)
   order by n limit 2
), seen_slot as materialized (
  select id, concurrent, (select processing from seen where n = 2) as next from seen where n = 1
), slot as materialized (
  select w.id, w.queued, s.concurrent - w.processing as below,
         least($11::int, s.concurrent - w.processing,
               case when s.next is not null then greatest(1, s.next - w.processing) end) as room
    from workspace w cross join seen_slot s
   where w.id = s.id and w.processing < s.concurrent
     for no key update of w
), first as materialized (
  select t.id from task t
   where t.workspace_id = (select id from slot) and t.status = 'queued'
     and t.model_version = any($12::text[])
   order by (t.batch_id is not null), t.queued_at, t.id limit (select room from slot)
     for update skip locked
), taken as materialized (
  select count(*)::int as count from first
), counted as materialized (
  select count_tasks(slot.id, 0, 0, -taken.count, taken.count) as done from slot, taken where taken.count > 0
), claimed as (
  update task set status = 'processing', claim = gen_random_uuid(), attempt = attempt + 1, due_at = now(),
         claimed_until = clock_timestamp() + $13 * interval '1 ms', started_at = coalesce(started_at, now())
   where id in (select id from due union all select id from first)
  returning *
), event as (
  insert into task_event (task_id, workspace_id, run, type, payload)
  select id, workspace_id, run, 'processing', jsonb_build_object('run', run, 'attempt', attempt)
    from claimed where id in (select id from first)
   order by queued_at, id
)
select c.id, c.run, c.claim, c.workspace_id as "workspaceId", w.plan, c.batch_id as "batchId", c.output, c.door,
       c.charge, c.attempt, c.model_version as "modelVersion", c.source_key as "sourceKey",
         c.source_etag as "sourceEtag",
       c.source_size_bytes as "sourceSizeBytes", c.fault_attempts as "faultAttempts", c.traceparent,
       c.created_at as "createdAt", c.callback_url as "callbackUrl", due.lapsed as "takenOver",
       (extract(epoch from clock_timestamp() - c.queued_at) * 1000)::bigint as "waitedMs",
       (select done from counted) as counted,
       exists (select from seen_due) or exists (select from seen where n = 2)
         or exists (select from seen_slot)
            and coalesce((select queued > taken.count and below > taken.count from slot, taken), true) as more
  from (select 1) one left join claimed c on true left join workspace w on w.id = c.workspace_id
       left join due on due.id = c.id
 order by (c.batch_id is not null), c.queued_at, c.id;
