// Receives a provider's events: verifies each, reads its subject again, and applies it once by event id (D72).
import type { IncomingHttpHeaders } from 'node:http'
import { sql } from 'kysely'
import { nextReading } from './apply/apply-context.ts'
import { applyFacts } from './apply/apply-facts.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Facts, ProviderEvent } from './provider/provider.ts'
import { SignatureError } from './provider/provider-errors.ts'

type Outcome = 'applied' | 'ignored' | 'repeated'

/** For use before the body is read. @throws SignatureError without a signature, whose value it does not check */
export function requireSignature({ provider, metrics }: PaymentDeps, headers: IncomingHttpHeaders): void {
  if (typeof headers[provider.signatureHeader] === 'string') return
  metrics?.countEvent(undefined, 'refused')
  throw new SignatureError(`the header ${provider.signatureHeader} is missing`)
}

/** On an error nothing is stored, and the provider sends the event again. @throws SignatureError, ProviderUnavailable */
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
    // A concurrent delivery of the event waits here for the first one's commit.
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
    // The body names the payer, so it is kept only for a live workspace.
    await sql`
      update provider_event e set applied = true, workspace_id = w.id,
             raw = case when w.deleted_at is null then ${raw.toString('utf8')} else '' end
        from workspace w
       where e.provider = ${provider.name} and e.event_id = ${event.id} and w.id = ${workspaceId}`.execute(tx)
    return 'applied'
  })
}

/** Avoids reading a repeated event's subject; the insert detects repetitions reliably. */
async function isKnown({ db, provider }: PaymentDeps, { id }: ProviderEvent): Promise<boolean> {
  const known = await db
    .selectFrom('provider_event')
    .select('event_id')
    .where('provider', '=', provider.name)
    .where('event_id', '=', id)
    .executeTakeFirst()
  return known !== undefined
}

async function readFacts({ provider }: PaymentDeps, { about, failure }: ProviderEvent): Promise<Facts | undefined> {
  if (about === null) return undefined
  return about.kind === 'order' && failure !== null ? {} : provider.read(about)
}
