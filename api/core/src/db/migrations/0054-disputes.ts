import { type Kysely, sql } from 'kysely'

const spendable = '(l.expires_at is null or greatest(l.expires_at, l.grace_until) > now())'
const month = `date_trunc('month', now() at time zone 'utc')::date`

const statements = [
  // Chargebacks, one row per dispute at the provider. The newest reading counts.
  `create table payment_dispute (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    order_id uuid not null references payment_order (id),
    provider text not null,
    provider_id text not null,
    status text not null check (status in ('open', 'won', 'lost')),
    reason text not null,
    amount bigint not null,
    currency text not null,
    reading bigint not null,
    check_at timestamptz,
    asked_at timestamptz,
    created_at timestamptz not null default now(),
    closed_at timestamptz,
    unique (provider, provider_id),
    check ((status = 'open') = (closed_at is null))
  )`,
  `create index payment_dispute_workspace on payment_dispute (workspace_id, created_at)`,
  `create index payment_dispute_order on payment_dispute (order_id)`,
  `create index payment_dispute_check on payment_dispute (check_at) where check_at is not null`,

  // Result of all disputes of an order; see apply/settle-disputes.ts.
  `alter table payment_order
     add column dispute text,
     add column dispute_credits integer not null default 0,
     add constraint payment_order_dispute
       check (dispute in ('open', 'won', 'lost') and dispute_credits >= 0) not valid`,
  `alter table subscription add column stopped_by_dispute boolean not null default false`,

  // Part of held that a dispute holds. The lot cannot be spent unless it is null. Older rows pass the check.
  `alter table credit_lot
     add column disputed integer,
     add constraint credit_lot_disputed check (disputed between 0 and held) not valid`,

  `alter table sandbox_object
     drop constraint sandbox_object_kind_check,
     add constraint sandbox_object_kind_check
       check (kind in ('checkout', 'subscription', 'invoice', 'refund', 'dispute')) not valid`,

  // Endpoints that take payment.* store the events that it covers.
  `update webhook_endpoint set event_types = event_types || array['payment.disputed', 'payment.dispute_closed']
    where 'payment.*' = any(event_types) and deleted_at is null`,

  // As in 0050-functions.ts, without the lots of disputed payments.
  `create or replace function hold_credits(of_workspace uuid, of_member uuid, of_task uuid, of_run int, credits int,
                                all_or_error boolean)
     returns table (taken int, limit_reached boolean) language plpgsql as $$
  begin
    with ranked as (
      select l.id, l.available,
             sum(l.available) over (order by l.priority, l.expires_at nulls last, l.created_at, l.id) - l.available
               as before
        from credit_lot l where l.workspace_id = of_workspace and l.has_available and l.disputed is null
                              and ${spendable}
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
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
