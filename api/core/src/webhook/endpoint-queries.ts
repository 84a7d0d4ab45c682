// Rows of `webhook_endpoint`. A deleted one stays, because deliveries refer to it, and is found by nothing here.
import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { WebhookEndpointTable } from '../db/tables/webhook-endpoint.ts'
import type { WebhookEvent } from './events.ts'

/** What its owner may see: everything but the secrets. */
const shown = [
  'id',
  'target_url',
  'event_types',
  'status',
  'disabled_reason',
  'description',
  'created_at',
  'updated_at',
  'last_delivery_at',
  'last_delivery_status',
] as const

export type EndpointRow = Pick<Selectable<WebhookEndpointTable>, (typeof shown)[number]>

/** Undefined: unknown, another workspace's, or deleted. */
export function findEndpoint(db: Db, workspaceId: string, id: string): Promise<EndpointRow | undefined> {
  return liveEndpoints(db, workspaceId).select(shown).where('id', '=', id).executeTakeFirst()
}

/** All of them, newest first; `endpointsMax` of `endpoint.ts` bounds how many there can be. */
export function listEndpoints(db: Db, workspaceId: string): Promise<EndpointRow[]> {
  return liveEndpoints(db, workspaceId).select(shown).orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
}

export async function countEndpoints(db: Db, workspaceId: string): Promise<number> {
  const { count } = await liveEndpoints(db, workspaceId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

type NewEndpoint = {
  /** Chosen beforehand, because the secret is sealed under it. */
  readonly id: string
  readonly workspaceId: string
  readonly target: EndpointTarget
  readonly eventTypes: readonly WebhookEvent[]
  readonly description: string | null
  readonly secretSealed: string
}

export type EndpointTarget = { readonly text: string; readonly href: string; readonly host: string }

export function insertEndpoint(db: Db, endpoint: NewEndpoint): Promise<EndpointRow> {
  return db
    .insertInto('webhook_endpoint')
    .values({
      id: endpoint.id,
      workspace_id: endpoint.workspaceId,
      ...targetColumns(endpoint.target),
      event_types: [...endpoint.eventTypes],
      description: endpoint.description,
      secret_sealed: endpoint.secretSealed,
    })
    .returning(shown)
    .executeTakeFirstOrThrow()
}

export type EndpointChanges = {
  readonly target?: EndpointTarget | undefined
  readonly eventTypes?: readonly WebhookEvent[] | undefined
  readonly status?: 'enabled' | 'disabled' | undefined
  /** Null takes it away. */
  readonly description?: string | null | undefined
}

/** Undefined: no such endpoint. A reason why it was disabled before is kept. */
export function updateEndpoint(
  db: Db,
  workspaceId: string,
  id: string,
  { target, eventTypes, status, description }: EndpointChanges,
): Promise<EndpointRow | undefined> {
  return db
    .updateTable('webhook_endpoint')
    .set({
      updated_at: sql<Date>`now()`,
      ...(target && targetColumns(target)),
      ...(eventTypes && { event_types: [...eventTypes] }),
      ...(status === 'enabled' && { status, disabled_reason: null }),
      ...(status === 'disabled' && { status, disabled_reason: sql<'OWNER'>`coalesce(disabled_reason, 'OWNER')` }),
      ...(description !== undefined && { description }),
    })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .returning(shown)
    .executeTakeFirst()
}

/**
 * Undefined: no such endpoint. The row stays for the deliveries that refer to it; its secrets are erased, since nothing
 * will be signed with them: whoever looks from now on sends nothing.
 */
export function markEndpointDeleted(db: Db, workspaceId: string, id: string) {
  return db
    .updateTable('webhook_endpoint')
    .set({
      deleted_at: sql<Date>`now()`,
      secret_sealed: '',
      previous_secret_sealed: null,
      previous_until: null,
    })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
}

type Rotation = { readonly secretSealed: string; readonly overlapSeconds: number }

/**
 * Puts a new secret in force; the one that signed until now stays in force beside it for `overlapSeconds`, 0 ends it
 * at once. A rotation within an overlap keeps the older secret, since that is the one receivers still have to know
 * (D63), and drops the one between. Undefined: no such endpoint.
 */
export function rotateSecret(db: Db, workspaceId: string, id: string, { secretSealed, overlapSeconds }: Rotation) {
  const overlaps = sql<boolean>`${overlapSeconds}::int > 0`
  return db
    .updateTable('webhook_endpoint')
    .set({
      secret_sealed: secretSealed,
      previous_secret_sealed: sql`case when not ${overlaps} then null
        when previous_until > now() then previous_secret_sealed else secret_sealed end`,
      previous_until: sql`case when ${overlaps} then now() + ${overlapSeconds}::int * interval '1 s' end`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .returning([...shown, 'previous_until'])
    .executeTakeFirst()
}

/** What a delivery needs. Undefined: deleted or disabled, nothing is to be sent any more. */
export function findDialledEndpoint(db: Db, id: string) {
  return db
    .selectFrom('webhook_endpoint')
    .select([
      'target_href as targetUrl',
      'secret_sealed as secretSealed',
      sql<string | null>`case when previous_until > now() then previous_secret_sealed end`.as('previousSecretSealed'),
    ])
    .where('id', '=', id)
    .where('status', '=', 'enabled')
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

const liveEndpoints = (db: Db, workspaceId: string) =>
  db.selectFrom('webhook_endpoint').where('workspace_id', '=', workspaceId).where('deleted_at', 'is', null)

const targetColumns = ({ text, href, host }: EndpointTarget) => ({
  target_url: text,
  target_href: href,
  target_host: host,
})
