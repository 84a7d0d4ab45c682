import { type Kysely, sql } from 'kysely'

// Orders, subscriptions, refunds, invoices, provider events, and the sandbox's state. Amounts are integers in minor
// units with an ISO 4217 code.
const statements = [
  `alter table workspace add column billing jsonb`,

  // Numbers each reading of a subscription before the request, so an older reading never overwrites a newer one.
  `create sequence provider_reading`,

  `create table subscription (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    provider text not null,
    provider_id text not null,
    plan text not null,
    billing_interval text not null check (billing_interval in ('month', 'year')),
    status text not null check (status in ('incomplete', 'active', 'past_due', 'canceled')),
    period_start timestamptz not null,
    period_end timestamptz not null,
    cancel_at_period_end boolean not null default false,
    reading bigint not null,
    in_force boolean not null default false,
    claimed_until timestamptz,
    check_at timestamptz,
    created_at timestamptz not null default now(),
    ended_at timestamptz,
    unique (provider, provider_id),
    check (period_start < period_end),
    check ((status = 'canceled') = (ended_at is not null))
  )`,
  `create index subscription_workspace on subscription (workspace_id, created_at desc)`,
  `create index subscription_check on subscription (check_at) where check_at is not null`,

  `create table payment_order (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    created_by uuid references app_user (id),
    kind text not null check (kind in ('pack', 'subscription')),
    reason text not null default 'purchase' check (reason in ('purchase', 'renewal', 'change')),
    status text not null default 'pending'
      check (status in ('pending', 'failed', 'canceled', 'paid', 'partially_refunded', 'refunded')),
    description text not null,
    pack_id text,
    plan text,
    billing_interval text check (billing_interval in ('month', 'year')),
    credits integer not null check (credits >= 0),
    expires_after_days integer check (expires_after_days > 0),
    amount bigint not null check (amount >= 0),
    tax bigint not null default 0 check (tax between 0 and amount),
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    refunded_amount bigint not null default 0 check (refunded_amount between 0 and amount),
    refunded_credits integer not null default 0 check (refunded_credits between 0 and credits),
    provider text not null,
    checkout_id text,
    checkout_url text,
    payment_id text,
    provider_invoice_id text,
    subscription_id uuid references subscription (id),
    lot_id uuid references credit_lot (id),
    failure text,
    check_at timestamptz,
    created_at timestamptz not null default now(),
    paid_at timestamptz,
    check ((kind = 'pack') = (pack_id is not null)),
    check ((kind = 'subscription') = (plan is not null and billing_interval is not null)),
    check ((status in ('paid', 'partially_refunded', 'refunded')) = (paid_at is not null))
  )`,
  `create index payment_order_page on payment_order (workspace_id, created_at desc, id desc)`,
  `create unique index payment_order_checkout on payment_order (provider, checkout_id)`,
  `create unique index payment_order_invoice on payment_order (provider, provider_invoice_id)`,
  `create index payment_order_payment on payment_order (provider, payment_id)`,
  `create index payment_order_check on payment_order (check_at) where check_at is not null`,
  // Prevents a second subscription from a second open order.
  `create unique index payment_order_open_subscription on payment_order (workspace_id)
     where kind = 'subscription' and reason = 'purchase' and status in ('pending', 'failed')`,

  `create table subscription_period (
    provider_invoice_id text not null,
    subscription_id uuid not null references subscription (id),
    order_id uuid not null references payment_order (id),
    plan text not null,
    billing_interval text not null check (billing_interval in ('month', 'year')),
    from_plan text,
    from_end timestamptz,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    grant_at timestamptz,
    primary key (subscription_id, provider_invoice_id),
    check (starts_at < ends_at),
    check (num_nonnulls(from_plan, from_end) in (0, 2))
  )`,
  `create index subscription_period_grant on subscription_period (grant_at) where grant_at is not null`,

  `create table refund (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    order_id uuid not null references payment_order (id),
    created_by uuid references app_user (id),
    status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
    amount bigint not null check (amount > 0),
    currency text not null,
    credits integer not null check (credits >= 0),
    lot_id uuid references credit_lot (id),
    reason text not null check (length(reason) <= 500),
    provider_refund_id text,
    failure text,
    check_at timestamptz,
    created_at timestamptz not null default now(),
    completed_at timestamptz,
    check ((status = 'pending') = (completed_at is null)),
    check (credits = 0 or lot_id is not null)
  )`,
  `create index refund_page on refund (workspace_id, created_at desc, id desc)`,
  `create index refund_order on refund (order_id)`,
  `create unique index refund_provider on refund (provider_refund_id)`,
  `create index refund_check on refund (check_at) where check_at is not null`,
  `alter table credit_entry drop constraint credit_entry_from_account_check`,
  `alter table credit_entry add constraint credit_entry_from_account_check
     check (from_account in ('source', 'available', 'held', 'refunded'))`,

  // Gap-free: the counter row is locked until the invoice is committed.
  `create table invoice_counter (year integer primary key, last integer not null)`,
  `create table invoice (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    order_id uuid not null references payment_order (id),
    refund_id uuid unique references refund (id),
    number text not null unique,
    credit_note_for uuid references invoice (id),
    seller jsonb not null,
    buyer jsonb not null,
    lines jsonb not null,
    subtotal bigint not null,
    tax bigint not null,
    total bigint not null check (total = subtotal + tax),
    currency text not null,
    paid_at timestamptz not null,
    issued_at timestamptz not null,
    created_at timestamptz not null default now(),
    check ((refund_id is null) = (credit_note_for is null))
  )`,
  `create index invoice_page on invoice (workspace_id, created_at desc, id desc)`,
  `create unique index invoice_order on invoice (order_id) where refund_id is null`,

  // Provider events, unique by id; \`applied\`: it concerned a workspace.
  `create table provider_event (
    provider text not null,
    event_id text not null,
    type text not null,
    raw text not null,
    applied boolean not null,
    received_at timestamptz not null default now(),
    primary key (provider, event_id)
  )`,
  `create index provider_event_age on provider_event (received_at)`,

  `create table sandbox_object (
    id text primary key,
    kind text not null check (kind in ('checkout', 'subscription', 'invoice', 'refund')),
    state jsonb not null,
    due_at timestamptz
  )`,
  `create index sandbox_object_due on sandbox_object (due_at) where due_at is not null`,
  `create table sandbox_event (
    position bigint generated always as identity primary key,
    body text not null,
    due_at timestamptz not null,
    delivered_at timestamptz
  )`,
  `create index sandbox_event_due on sandbox_event (due_at, position) where delivered_at is null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
