import { type Kysely, sql } from 'kysely'

// Lets a claim find due deliveries without reading all pending ones. `ready` means due and unclaimed: true for new
// deliveries, set by claims for those that have fallen due, and cleared by the trigger when due_at is in the future.
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
  `create index delivery_due on delivery (due_at) where status = 'pending' and ready`,
  `create index delivery_next on delivery ((coalesce(claimed_until, due_at))) where status = 'pending' and not ready`,
  // One index hop per workspace with due deliveries, and per host in it. Hosts are hashed so a random start divides
  // them evenly; two hosts of a workspace with one hash share a cap.
  `create index delivery_ready on delivery (workspace_id, hashtext(target_host), (coalesce(claimed_until, due_at)))
     where status = 'pending' and ready`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
