import { type Kysely, sql } from 'kysely'

// A claim looks at what is due, so it must be found without reading what is pending. No index can know the time of a
// later statement; a column can: `ready` says that a pending delivery is due and claimed by nobody. A new one is; a
// claim sets it for those that have fallen due since; and the trigger takes it back, whoever writes a time ahead.
const statements = [
  `alter table delivery add column ready boolean not null default true`,
  `update delivery set ready = false where status = 'pending' and coalesce(claimed_until, due_at) > now()`,
  `create function delivery_not_ready() returns trigger language plpgsql as $$
    begin
      new.ready := false;
      return new;
    end $$`,
  `create trigger delivery_not_ready before insert or update of due_at, claimed_until on delivery for each row
     when (new.ready and coalesce(new.claimed_until, new.due_at) > now()) execute function delivery_not_ready()`,
  `drop index delivery_due`,
  `drop index delivery_target`,
  // How much waits, and for how long.
  `create index delivery_due on delivery (due_at) where status = 'pending' and ready`,
  // What falls due next: a retry, or a claim that lapses.
  `create index delivery_next on delivery ((coalesce(claimed_until, due_at))) where status = 'pending' and not ready`,
  // One hop per workspace with something due, and per host within it: see claim-deliveries.ts. Hosts go by a hash,
  // which a random start divides evenly; two hosts of a workspace that share one also share their bound.
  `create index delivery_ready on delivery (workspace_id, hashtext(target_host), (coalesce(claimed_until, due_at)))
     where status = 'pending' and ready`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
