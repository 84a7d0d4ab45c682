prepare claim_next_task as
with running as materialized (
  select 1 as yes where not exists (select from setting where name = 'dispatchPaused' and value = 'true')
), due as materialized (
  select id, claim is not null as lapsed from task where $1::boolean and status = 'processing'
    and model_version = any($2::text[])
     and due_at <= now() and (claimed_until is null or claimed_until <= now()) and attempt < $3 and exists (select
       from running)
   order by due_at limit 1
     for update skip locked
), seen_due as materialized (
  select 1 from task where $4::boolean and status = 'processing' and model_version = any($5::text[])
     and due_at <= now() and (claimed_until is null or claimed_until <= now()) and attempt < $6 and exists (select
       from running) limit 1
), limits as (
  select * from unnest($7::text[], $8::int[]) as p (plan, concurrent)
), seen_slot as materialized (
  select w.id, p.concurrent
    from workspace w
    join limits p on p.plan = w.plan
   cross join lateral (
     select queued_at from task q
      where q.workspace_id = w.id and q.status = 'queued' and q.model_version = any($9::text[])
      order by (q.batch_id is not null), q.queued_at, q.id limit 1
   ) head
   where w.waiting and w.processing < p.concurrent
     and exists (select from running) and not exists (select from seen_due)
   order by w.processing, head.queued_at limit 1
), slot as materialized (
  select w.id from workspace w
   where w.id = (select id from seen_slot) and w.processing < (select concurrent from seen_slot)
     for no key update
), first as materialized (
  select t.id from task t
   where t.workspace_id = (select id from slot) and t.status = 'queued'
     and t.model_version = any($10::text[])
   order by (t.batch_id is not null), t.queued_at, t.id limit 1
     for update skip locked
), counted as (
  update workspace set queued = queued - 1, processing = processing + 1
   where id = (select id from slot) and exists (select from first)
), claimed as (
  update task set status = 'processing', claim = gen_random_uuid(), attempt = attempt + 1, due_at = now(),
         claimed_until = clock_timestamp() + $11 * interval '1 ms', started_at = coalesce(started_at, now())
   where id in (select id from due union all select id from first)
  returning *
), event as (
  insert into task_event (task_id, workspace_id, run, type, payload)
  select id, workspace_id, run, 'processing', jsonb_build_object('run', run, 'attempt', attempt)
    from claimed where id in (select id from first)
)
select c.id, c.run, c.claim, c.workspace_id as "workspaceId", w.plan, c.batch_id as "batchId", c.output, c.door,
       c.attempt, c.model_version as "modelVersion", c.source_key as "sourceKey", c.source_etag as "sourceEtag",
       c.source_size_bytes as "sourceSizeBytes", c.fault_attempts as "faultAttempts", c.traceparent,
       c.created_at as "createdAt", c.callback_url as "callbackUrl", (select lapsed from due) as "takenOver",
       (extract(epoch from clock_timestamp() - c.queued_at) * 1000)::bigint as "waitedMs",
       exists (select from seen_due) or exists (select from seen_slot) as again
  from (select 1) one left join claimed c on true left join workspace w on w.id = c.workspace_id;
