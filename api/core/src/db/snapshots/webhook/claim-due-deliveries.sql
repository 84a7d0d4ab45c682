prepare claim_due_deliveries_1 as
select pg_advisory_xact_lock(hashtext('matte.delivery.claim')),
                     set_config('idle_in_transaction_session_timeout', '2000', true);

prepare claim_due_deliveries_2 as
with recursive target as (
  (select workspace_id, target_host from delivery where status = 'pending'
    order by workspace_id, target_host limit 1)
  union all
  select next.workspace_id, next.target_host
    from target t cross join lateral (
      select workspace_id, target_host from delivery
       where status = 'pending' and (workspace_id, target_host) > (t.workspace_id, t.target_host)
       order by workspace_id, target_host limit 1) next
), in_flight as (
  select workspace_id, target_host, count(*) as busy,
         sum(count(*)) over (partition by workspace_id) as workspace_busy
    from delivery where claim is not null and claimed_until > now()
   group by workspace_id, target_host
), workspace_in_flight as (
  select workspace_id, max(workspace_busy) as busy from in_flight group by workspace_id
), candidate as (
  select due.id, due.due_at,
         coalesce(w.busy, 0) + row_number() over (partition by t.workspace_id order by due.due_at, due.id) as turn
    from target t
    left join in_flight f using (workspace_id, target_host)
    left join workspace_in_flight w on w.workspace_id = t.workspace_id
   cross join lateral (
      select d.id, d.due_at from delivery d
       where d.workspace_id = t.workspace_id and d.target_host = t.target_host and d.status = 'pending'
         and d.due_at <= now() and (d.claim is null or d.claimed_until <= now())
       order by d.due_at
       limit greatest(0, $1::int - coalesce(f.busy, 0))) due
), chosen as (
  select id from candidate where turn <= $2::int order by turn, due_at limit $3::int
), picked as (
  -- Rows that somebody cancels or records at this moment are left out, and judged again once locked.
  select d.id from delivery d join chosen using (id) where d.status = 'pending' and d.due_at <= now()
    and (d.claim is null or d.claimed_until <= now()) for update of d skip locked
)
update delivery d
   set attempt = d.attempt + (d.claim is null)::int, claim = gen_random_uuid(),
       claimed_until = now() + $4 * interval '1 ms'
  from picked where d.id = picked.id
returning d.id, d.claim, d.attempt, d.workspace_id as "workspaceId", d.task_id as "taskId", d.event,
          d.endpoint_id as "endpointId", d.target_url as "targetUrl", d.target_host as "targetHost", d.body,
          d.traceparent, (extract(epoch from now()) * 1000)::float8 as "claimedAtMs";
