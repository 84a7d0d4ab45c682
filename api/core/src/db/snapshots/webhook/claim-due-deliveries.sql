prepare claim_due_deliveries_1 as
select set_config('idle_in_transaction_session_timeout', '2000', true), set_config('jit', 'off', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('enable_sort', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true);

prepare claim_due_deliveries_2 as
with recursive fallen as materialized (
  select id from delivery where status = 'pending' and not ready and coalesce(claimed_until, due_at) <= now()
   order by coalesce(claimed_until, due_at) limit $1 for update skip locked
), marked as (
  update delivery d set ready = true from fallen where d.id = fallen.id returning d.workspace_id
), in_flight as materialized (
  select workspace_id, count(*) as busy from delivery where claim is not null and claimed_until > now()
   group by workspace_id
), bounds as materialized (
  select gen_random_uuid() as start, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid as last,
         greatest($2::int, $3) + (select count(*) from in_flight) as hops
), hop as (
  select start as workspace_id, 0 as lap, 0 as n from bounds
  union all
  select next.workspace_id, next.lap, h.n + 1
    from hop h cross join bounds b cross join lateral (
      (select workspace_id, h.lap from delivery
        where status = 'pending' and ready and workspace_id > h.workspace_id
          and workspace_id <= case h.lap when 0 then b.last else b.start end
        order by workspace_id limit 1)
      union all
      (select workspace_id, 1 from delivery where status = 'pending' and ready and h.lap = 0 and workspace_id <= b.start
        order by workspace_id limit 1)
      order by lap limit 1) next
   where h.n < b.hops
), open as materialized (
  select id from (select workspace_id as id from hop where n > 0 union select workspace_id from marked) seen
    left join in_flight f on f.workspace_id = seen.id
   where coalesce(f.busy, 0) < $4::int
   order by (f.busy is not null), random() limit $5
), queue as materialized (
  select id, hashtext(id::text) as lock from open order by lock
)
select id, "sawAll", pg_advisory_xact_lock(hashtext('matte.delivery.claim'), lock)
  from (select (select count(*) from marked) < $6 and max(n) < (select hops from bounds) as "sawAll"
          from hop) s left join queue on true;

prepare claim_due_deliveries_3 as
with recursive in_flight as materialized (
  select workspace_id, hashtext(target_host) as target, count(*) as busy
    from delivery where claim is not null and claimed_until > now() and workspace_id = any($1::uuid[])
   group by workspace_id, hashtext(target_host)
), taking as materialized (
  select w.id as workspace_id, coalesce(sum(f.busy), 0) as busy,
         count(f.target) + greatest($2,
           least($3::int, $4::int - coalesce(sum(f.busy), 0))) as hops,
         (random() * 4294967295 - 2147483648)::bigint::int as start
    from unnest($5::uuid[]) as w (id) left join in_flight f on f.workspace_id = w.id
   group by w.id
), hop as (
  select workspace_id, start as target, 0 as lap, 0 as n from taking
  union all
  select h.workspace_id, next.target, next.lap, h.n + 1
    from hop h join taking w using (workspace_id) cross join lateral (
      (select hashtext(target_host) as target, h.lap from delivery
        where status = 'pending' and ready and workspace_id = h.workspace_id and hashtext(target_host) > h.target
          and hashtext(target_host) <= case h.lap when 0 then 2147483647 else w.start end
        order by hashtext(target_host) limit 1)
      union all
      (select hashtext(target_host), 1 from delivery
        where status = 'pending' and ready and workspace_id = h.workspace_id and h.lap = 0
          and hashtext(target_host) <= w.start
        order by hashtext(target_host) limit 1)
      order by lap limit 1) next
   where h.n < w.hops
), candidate as (
  select due.id, due.since,
         w.busy + row_number() over (partition by workspace_id order by due.since, due.id) as turn
    from hop h join taking w using (workspace_id) left join in_flight f using (workspace_id, target)
   cross join lateral (
      select d.id, coalesce(claimed_until, due_at) as since from delivery d
       where status = 'pending' and ready and d.workspace_id = h.workspace_id and hashtext(target_host) = h.target
         and coalesce(claimed_until, due_at) <= now()
       order by coalesce(claimed_until, due_at)
       limit greatest(0, $6::int - coalesce(f.busy, 0))) due
   where h.n > 0
), chosen as materialized (
  select id from candidate where turn <= $7::int order by turn, since limit $8::int
), picked as materialized (
  -- Checked again under the lock, without "ready": the planner might look up the id in the indexes of ready rows.
  select d.id, d.claim is not null as lapsed from chosen join delivery d using (id)
   where d.status = 'pending' and coalesce(claimed_until, due_at) <= now() for update of d skip locked
)
update delivery d
   set attempt = d.attempt + (d.claim is null)::int, claim = gen_random_uuid(),
       -- Not from the start of the transaction, which has waited for locks since.
       claimed_until = clock_timestamp() + $9 * interval '1 ms'
  from picked where d.id = picked.id
returning d.id, d.claim, d.attempt, d.attempt - d.attempts_before as "scheduledAttempt",
          d.workspace_id as "workspaceId", d.task_id as "taskId", d.event, d.sample,
          d.endpoint_id as "endpointId", d.target_url as "targetUrl", d.target_host as "targetHost", d.body,
          d.traceparent, (extract(epoch from clock_timestamp()) * 1000)::float8 as "claimedAtMs",
          picked.lapsed as "takenOver";
