prepare claim_due_deliveries_1 as
select set_config('idle_in_transaction_session_timeout', '2000', true), set_config('jit', 'off', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('enable_sort', 'off', true);

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
select id, "markedAll", pg_advisory_xact_lock(hashtext('matte.delivery.claim'), lock)
  from (select count(*) < $6 as "markedAll" from marked) m left join queue on true;
