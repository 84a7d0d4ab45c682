// An event of a provider: verified, what it is about read again, applied once by its id (D72).
import type { IncomingHttpHeaders } from 'node:http'
import { sql } from 'kysely'
import { applyFacts } from './apply/apply-facts.ts'
import { nextReading } from './apply/applying.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Facts, ProviderEvent } from './provider/provider.ts'

type Outcome = 'applied' | 'ignored' | 'repeated'

/**
 * When this has returned, the event is stored together with all that it meant. When it throws, nothing is: the
 * provider sends it again.
 * @throws SignatureError; ProviderUnavailable when what it is about cannot be read now
 */
export async function receiveEvent(deps: PaymentDeps, raw: Buffer, headers: IncomingHttpHeaders): Promise<Outcome> {
  const event = verify(deps, raw, headers)
  const about = event.about?.kind
  try {
    const outcome = await take(deps, event, raw)
    deps.metrics?.countEvent(about, outcome)
    return outcome
  } catch (error) {
    deps.metrics?.countEvent(about, 'failed')
    throw error
  }
}

function verify({ provider, metrics }: PaymentDeps, raw: Buffer, headers: IncomingHttpHeaders): ProviderEvent {
  try {
    return provider.verifyEvent(raw, headers)
  } catch (error) {
    metrics?.countEvent(undefined, 'refused')
    throw error
  }
}

async function take(deps: PaymentDeps, event: ProviderEvent, raw: Buffer): Promise<Outcome> {
  const { db, provider } = deps
  if (await isKnown(deps, event)) return 'repeated'
  const reading = await nextReading(db)
  const facts = await readFacts(deps, event)
  return db.transaction().execute(async (tx) => {
    // Whoever comes second with the same event waits here until the first is committed.
    const { numInsertedOrUpdatedRows: inserted } = await tx
      .insertInto('provider_event')
      .values({
        provider: provider.name,
        event_id: event.id,
        type: event.type,
        raw: '',
        applied: false,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (inserted !== 1n) return 'repeated'
    const workspaceId = facts && (await applyFacts(tx, deps, { facts, reading, event }))
    if (workspaceId === undefined) return 'ignored'
    // The body names the payer, so it is kept only for a workspace that has not ended.
    await sql`
      update provider_event e set applied = true, workspace_id = w.id,
             raw = case when w.deleted_at is null then ${raw.toString('utf8')} else '' end
        from workspace w
       where e.provider = ${provider.name} and e.event_id = ${event.id} and w.id = ${workspaceId}`.execute(tx)
    return 'applied'
  })
}

/** Spares the provider a question; whether it is so is decided by the insert. */
async function isKnown({ db, provider }: PaymentDeps, { id }: ProviderEvent): Promise<boolean> {
  const known = await db
    .selectFrom('provider_event')
    .select('event_id')
    .where('provider', '=', provider.name)
    .where('event_id', '=', id)
    .executeTakeFirst()
  return known !== undefined
}

/** Undefined: it is about nothing of ours. A failed charge of an order says all by itself. */
async function readFacts({ provider }: PaymentDeps, { about, failure }: ProviderEvent): Promise<Facts | undefined> {
  if (about === null) return undefined
  return about.kind === 'order' && failure !== null ? {} : provider.read(about)
}
