import { type Kysely, sql } from 'kysely'

const change = `case when to_account = 'available' then amount when from_account = 'available' then -amount else 0 end`

const statements = [
  // Alert thresholds: credits left, and days before a lot ends. `low_balance_armed`: not announced since the last
  // grant. In `workspace`, because the end of a run already locks that row.
  `alter table workspace
     add column low_balance_threshold integer not null default 10 check (low_balance_threshold >= 0),
     add column low_balance_armed boolean not null default true,
     add column expiry_days_before integer not null default 7 check (expiry_days_before between 1 and 30),
     add column plan_credits_due_at timestamptz`,
  `create index workspace_plan_credits on workspace (plan_credits_due_at) where plan_credits_due_at is not null`,
  // Existing non-free plans were set by operators. A workspace with operator credits this month gets no plan credits,
  // as with `workspace create --credits`.
  `update workspace w
      set plan_credits_due_at = case
            when exists (select from credit_lot l
                          where l.workspace_id = w.id and l.created_at >= date_trunc('month', now(), 'UTC'))
            then date_trunc('month', now(), 'UTC') + interval '1 month' else now() end
    where plan <> 'free'`,

  `create table credit_low_balance (
    workspace_id uuid primary key references workspace (id) on delete cascade,
    at timestamptz not null default now()
  )`,

  `create table credit_adjustment (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    reference text not null check (length(reference) between 1 and 255),
    amount integer not null check (amount <> 0),
    reason text not null check (length(reason) between 1 and 500),
    at timestamptz not null default now(),
    unique (workspace_id, reference)
  )`,

  `alter table credit_lot
     add column adjusted integer not null default 0 check (adjusted >= 0),
     add column warn_at timestamptz,
     drop constraint credit_lot_balanced,
     add constraint credit_lot_balanced check (granted = available + held + spent + expired + refunded + adjusted)`,
  `update credit_lot set warn_at = expires_at - interval '7 days' where expires_at > now()`,
  `create index credit_lot_page on credit_lot (workspace_id, created_at desc, id desc)`,
  `create index credit_lot_warning on credit_lot (warn_at) where has_available and warn_at is not null`,
  `create table credit_expiry_warning (
    lot_id uuid not null references credit_lot (id),
    days integer not null,
    at timestamptz not null default now(),
    primary key (lot_id, days)
  )`,

  // Available credits of the lot after the entry, written under the lot's lock, so a past balance is one look-up per
  // lot. `at` is the time of writing under the workspace lock, so entries are ordered by time.
  `alter table credit_entry
     add column lot_available integer check (lot_available >= 0),
     add column adjustment_id uuid references credit_adjustment (id),
     alter column at set default clock_timestamp(),
     drop constraint credit_entry_to_account_check,
     add constraint credit_entry_to_account_check
       check (to_account in ('available', 'held', 'spent', 'expired', 'refunded', 'adjusted'))`,
  `alter table credit_entry disable trigger credit_entry_append_only`,
  `update credit_entry e set lot_available = s.lot_available
     from (select id, sum(${change}) over (partition by lot_id order by id) as lot_available from credit_entry) s
    where s.id = e.id`,
  `alter table credit_entry enable trigger credit_entry_append_only`,
  // Fills the column for processes of the previous release during an upgrade.
  `create function fill_lot_available() returns trigger language plpgsql as $$
    begin
      select available into new.lot_available from credit_lot where id = new.lot_id;
      return new;
    end $$`,
  `create trigger credit_entry_lot_available before insert on credit_entry
     for each row when (new.lot_available is null) execute function fill_lot_available()`,
  `create index credit_entry_page on credit_entry (workspace_id, at desc, id desc)`,
  // Excludes the two entries of each success, so filters for rare kinds do not scan them.
  `create index credit_entry_rare on credit_entry (workspace_id, at desc, id desc)
     where to_account in ('available', 'expired', 'refunded', 'adjusted')`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
