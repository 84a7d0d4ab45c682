// Secret of an endpoint: rotated by its owner, opened to sign a delivery.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { type MasterKeys, seal, unseal } from '../../runtime/seal.ts'
import { generateSigningSecret } from '../../workspace/callback-secret.ts'
import { endpointNotFound } from './endpoint.ts'
import { endpointColumns } from './endpoint-queries.ts'
import { openHeaders } from './own-headers.ts'

/** The previous secret signs `X-Service-Signature` until `previousUntil` (null: not at all). @throws NOT_FOUND */
export async function rotateEndpointSecret(
  db: Db,
  keys: MasterKeys,
  { workspaceId, id, overlapSeconds }: { workspaceId: string; id: string; overlapSeconds: number },
) {
  const signingSecret = generateSigningSecret()
  const rotated = await rotateSecret(db, {
    workspaceId,
    id,
    secretSealed: seal(keys, id, signingSecret),
    overlapSeconds,
  })
  if (rotated === undefined) throw endpointNotFound()
  const { previous_until: previousUntil, ...endpoint } = rotated
  return { ...endpoint, signingSecret, previousUntil }
}

type Rotation = {
  readonly workspaceId: string
  readonly id: string
  readonly secretSealed: string
  readonly overlapSeconds: number
}

/**
 * Stores a new secret; the current one stays valid for `overlapSeconds`. A rotation within an overlap keeps the older
 * secret, which receivers know, and drops the one between. Undefined: no such endpoint.
 */
function rotateSecret(db: Db, { workspaceId, id, secretSealed, overlapSeconds }: Rotation) {
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
    .returning([...endpointColumns, 'previous_until'])
    .executeTakeFirst()
}

/** Target, secrets and the owner's own headers for a delivery. Undefined: the endpoint is deleted or disabled. */
export async function readDialledEndpoint(db: Db, keys: MasterKeys, id: string) {
  const endpoint = await findDialledEndpoint(db, id)
  if (endpoint === undefined) return undefined
  const { targetUrl, secretSealed, previousSecretSealed, headersSealed } = endpoint
  return {
    targetUrl,
    secret: unseal(keys, id, secretSealed),
    previousSecret: previousSecretSealed === null ? undefined : unseal(keys, id, previousSecretSealed),
    ownHeaders: openHeaders(keys, id, headersSealed),
  }
}

function findDialledEndpoint(db: Db, id: string) {
  return db
    .selectFrom('webhook_endpoint')
    .select([
      'target_href as targetUrl',
      'secret_sealed as secretSealed',
      'headers_sealed as headersSealed',
      sql<string | null>`case when previous_until > now() then previous_secret_sealed end`.as('previousSecretSealed'),
    ])
    .where('id', '=', id)
    .where('status', '=', 'enabled')
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}
