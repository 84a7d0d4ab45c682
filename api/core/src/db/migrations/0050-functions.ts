import { type Kysely, sql } from 'kysely'

// Two steps of which the second needs a snapshot that is taken after the locks of the first, in one round trip: a
// function's statements each take their own. A transaction of the client takes three to five round trips, holds its
// locks meanwhile, and keeps them while the client is suspended. PostgreSQL keeps a function's plans for the session,
// behind a pooler too.

// The planner's settings make claims of deliveries use the indexes. By default it follows statistics, which are out of
// date for a queue: believing that nothing was due, it read everything. With them the plan does not depend on the
// values.
const settings = ['jit', 'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_sort']
  .map((name) => `set ${name} = off`)
  .join(' ')

/** Time from which a pending delivery can be claimed: the expression of its indexes. */
const from = (row: string): string => `coalesce(${row}.claimed_until, ${row}.due_at)`
const target = 'hashtext(d.target_host)'
const ready = `d.status = 'pending' and d.ready`

/** Minimum number of scan steps: a random start alone rarely hits a workspace next to another. */
const hopsMin = 4
/** Maximum rows marked per call, so it stays short when a whole hour of retries is due. */
const markedMax = 1_000
/** Maximum advisory locks per call; a server has about 6,400 locks in total. */
const workspacesMax = 256

const spendable = '(l.expires_at is null or greatest(l.expires_at, l.grace_until) > now())'
const month = `date_trunc('month', now() at time zone 'utc')::date`

const statements = [
  // Holds credits in the order priority, expiry, age, from several lots if needed (hold.ts). The caller holds the
  // workspace's lock. With `all_or_error` too few credits, or a member's limit, roll the calling statement back.
  `create function hold_credits(of_workspace uuid, of_member uuid, of_task uuid, of_run int, credits int,
                                all_or_error boolean)
     returns table (taken int, limit_reached boolean) language plpgsql as $$
  begin
    with ranked as (
      select l.id, l.available,
             sum(l.available) over (order by l.priority, l.expires_at nulls last, l.created_at, l.id) - l.available
               as before
        from credit_lot l where l.workspace_id = of_workspace and l.has_available and ${spendable}
    ), part as (
      select r.id, least(r.available, credits - r.before)::int as amount from ranked r where r.before < credits
    ), lot as (
      update credit_lot l set available = l.available - part.amount, held = l.held + part.amount
        from part where l.id = part.id
      returning l.id, part.amount, l.available
    ), hold as (
      insert into credit_hold (task_id, run, lot_id, amount) select of_task, of_run, lot.id, lot.amount from lot
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
      select of_workspace, lot.id, of_task, of_run, 'available', 'held', lot.amount, lot.available from lot
    ), low as (
      insert into credit_low_balance (workspace_id)
      select w.id from workspace w
       where w.id = of_workspace and w.low_balance_armed
         and exists (select from lot where lot.available < w.low_balance_below)
      on conflict do nothing
    )
    select coalesce(sum(lot.amount), 0), false into taken, limit_reached from lot;

    if of_member is not null then
      with member as (
        select w.id as workspace_id, of_member as user_id, s.credit_limit
          from workspace w left join membership s on s.workspace_id = w.id and s.user_id = of_member
         where w.id = of_workspace and w.personal_of is null
      ), counted as (
        insert into member_credit_month as m (workspace_id, user_id, month, used)
        select c.workspace_id, c.user_id, ${month}, credits
          from member c where c.credit_limit is null or credits <= c.credit_limit
        on conflict (workspace_id, user_id, month) do update set used = m.used + excluded.used
         where m.used + excluded.used <= (select coalesce(c.credit_limit, 9223372036854775807) from member c)
        returning 1
      )
      select exists (select from member) and not exists (select from counted) into limit_reached;
    end if;

    if all_or_error and (taken < credits or limit_reached) then
      raise exception 'too few credits' using errcode = 'MT001';
    end if;
    return next;
  end $$`,

  `create function claim_deliveries(slots int, claim_ms int, per_target int, per_workspace int)
     returns table (claimed delivery, lapsed boolean, saw_all boolean, waits boolean)
     language plpgsql set plan_cache_mode = force_generic_plan ${settings} as $$
  declare
    owners uuid[];
    whole boolean;
  begin
    -- Marks due rows, and locks workspaces that have ready ones: as many as free slots, plus those with deliveries in
    -- flight, since these may have reached a bound.
    with recursive fallen as materialized (
      select d.id from delivery d where d.status = 'pending' and not d.ready and ${from('d')} <= now()
       order by ${from('d')} limit ${markedMax} for update skip locked
    ), marked as (
      update delivery d set ready = true from fallen f where d.id = f.id returning d.workspace_id
    ), in_flight as materialized (
      select d.workspace_id, count(*) as busy from delivery d
       where d.claim is not null and d.claimed_until > now() group by d.workspace_id
    ), bounds as materialized (
      select gen_random_uuid() as start, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid as last,
             greatest(slots, ${hopsMin}) + (select count(*) from in_flight) as hops
    ), hop as (
      select b.start as workspace_id, 0 as lap, 0 as n from bounds b
      union all
      select next.workspace_id, next.lap, h.n + 1
        from hop h cross join bounds b cross join lateral (
          (select d.workspace_id, h.lap from delivery d
            where ${ready} and d.workspace_id > h.workspace_id
              and d.workspace_id <= case h.lap when 0 then b.last else b.start end
            order by d.workspace_id limit 1)
          union all
          (select d.workspace_id, 1 from delivery d where ${ready} and h.lap = 0 and d.workspace_id <= b.start
            order by d.workspace_id limit 1)
          order by lap limit 1) next
       where h.n < b.hops
    ), open as materialized (
      select seen.id
        from (select h.workspace_id as id from hop h where h.n > 0 union select m.workspace_id from marked m) seen
        left join in_flight f on f.workspace_id = seen.id
       where coalesce(f.busy, 0) < per_workspace
       order by (f.busy is not null), random() limit ${workspacesMax}
    ), queue as materialized (
      select o.id, hashtext(o.id::text) as lock from open o order by lock
    ), locked as materialized (
      select q.id, pg_advisory_xact_lock(hashtext('matte.delivery.claim'), q.lock)::text as done from queue q
    )
    select array_agg(l.id) filter (where l.done is not null),
           (select count(*) from marked) < ${markedMax}
             and (select max(h.n) from hop h) < (select b.hops from bounds b)
      into owners, whole from locked l;

    if owners is not null then
      return query
      with recursive in_flight as materialized (
        select d.workspace_id, ${target} as target, count(*) as busy
          from delivery d where d.claim is not null and d.claimed_until > now() and d.workspace_id = any(owners)
         group by d.workspace_id, ${target}
      ), taking as materialized (
        select w.id as workspace_id, coalesce(sum(f.busy), 0) as busy,
               count(f.target) + greatest(${hopsMin},
                 least(slots, per_workspace - coalesce(sum(f.busy), 0))) as hops,
               (random() * 4294967295 - 2147483648)::bigint::int as start
          from unnest(owners) as w (id) left join in_flight f on f.workspace_id = w.id
         group by w.id
      ), hop as (
        select t.workspace_id, t.start as target, 0 as lap, 0 as n from taking t
        union all
        select h.workspace_id, next.target, next.lap, h.n + 1
          from hop h join taking w using (workspace_id) cross join lateral (
            (select ${target} as target, h.lap from delivery d
              where ${ready} and d.workspace_id = h.workspace_id and ${target} > h.target
                and ${target} <= case h.lap when 0 then 2147483647 else w.start end
              order by ${target} limit 1)
            union all
            (select ${target}, 1 from delivery d
              where ${ready} and d.workspace_id = h.workspace_id and h.lap = 0 and ${target} <= w.start
              order by ${target} limit 1)
            order by lap limit 1) next
         where h.n < w.hops
      ), candidate as (
        select due.id, due.since,
               w.busy + row_number() over (partition by workspace_id order by due.since, due.id) as turn
          from hop h join taking w using (workspace_id) left join in_flight f using (workspace_id, target)
         cross join lateral (
            select d.id, ${from('d')} as since from delivery d
             where ${ready} and d.workspace_id = h.workspace_id and ${target} = h.target and ${from('d')} <= now()
             order by ${from('d')}
             limit greatest(0, per_target - coalesce(f.busy, 0))) due
         where h.n > 0
      ), chosen as materialized (
        select c.id from candidate c where c.turn <= per_workspace order by c.turn, c.since limit slots
      ), picked as materialized (
        -- Checked again under the lock, without "ready": the planner might look up the id in the indexes of ready rows.
        select d.id, d.claim is not null as lapsed from chosen join delivery d using (id)
         where d.status = 'pending' and ${from('d')} <= now() for update of d skip locked
      )
      update delivery d
         set attempt = d.attempt + (d.claim is null)::int, claim = gen_random_uuid(),
             -- Not from the start of the statement, which has waited for locks since.
             claimed_until = clock_timestamp() + claim_ms * interval '1 ms'
        from picked p where d.id = p.id
      returning d, p.lapsed, null::boolean, null::boolean;
    end if;

    return query select null::delivery, null::boolean, whole,
      exists (select from delivery d where ${ready} and d.due_at <= now());
  end $$`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
