// Rules of webhook endpoints. Waiting deliveries follow an endpoint's change in a separate statement,
// because an attempt locks delivery, then endpoint, and the opposite order could deadlock. If the process dies in
// between, the dispatcher reads the endpoint's row anyway.

import { randomUUID } from 'node:crypto'
import type { Audit } from '../../audit/record-change.ts'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/in-transaction.ts'
import { MatteError } from '../../error.ts'
import { createOnce, type OnceRequest } from '../../idempotency/create-once.ts'
import { type MasterKeys, seal } from '../../runtime/seal.ts'
import { generateSigningSecret } from '../../workspace/callback-secret.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { cancelEndpointDeliveries, moveEndpointDeliveries } from '../delivery-queries.ts'
import { type EventType, expandEventTypes } from '../event-types.ts'
import { portOf } from '../target/target-url.ts'
import { deleteAttemptHours } from './attempt-hours.ts'
import {
  type EndpointChanges,
  type EndpointTarget,
  insertEndpoint,
  markEndpointDeleted,
  updateEndpoint,
} from './endpoint-changes.ts'
import { type Maker, requireEndpointMaker } from './endpoint-maker.ts'
import { type EndpointRow, findEndpoint, liveEndpoints } from './endpoint-queries.ts'
import {
  changeHeaders,
  type HeaderChanges,
  keepHeadersFromOtherOrigin,
  mergeHeaders,
  storeHeaders,
} from './own-headers.ts'
import { pauseEndpointDeliveries } from './pause-deliveries.ts'
import { welcomeFirstListener } from './welcome.ts'

/** Endpoints of a workspace, and so the deliveries of one event. */
const endpointsMax = 100

type EndpointInput = {
  readonly workspaceId: string
  /** The caller's text, and the URL that `checkTargetUrl` returned. */
  readonly targetUrl: string
  readonly url: URL
  readonly eventTypes: readonly EventType[]
  readonly description: string | null
  readonly headers?: HeaderChanges | undefined
  /** Undefined: an operator. */
  readonly maker?: Maker | undefined
  readonly once?: OnceRequest | undefined
}

type CreatedEndpoint = EndpointRow & {
  readonly signingSecret: string
  /** `welcome` is due for it. */
  readonly welcomed: boolean
}

/** @throws MatteError CONFLICT past `endpointsMax`; as `storeHeaders`, `requireEndpointMaker` and `createOnce` */
export async function createEndpoint(db: Db, keys: MasterKeys, input: EndpointInput): Promise<CreatedEndpoint> {
  const { workspaceId, targetUrl, url, eventTypes, description, maker } = input
  const id = randomUUID()
  const headers = storeHeaders(keys, id, mergeHeaders({}, input.headers ?? {}))
  const signingSecret = generateSigningSecret()
  const endpoint = await createOnce(db, input.once, async (tx) => {
    await lockWorkspace(tx, workspaceId) // concurrent creations see each other
    const createdBy = maker === undefined ? null : await requireEndpointMaker(tx, workspaceId, maker)
    if ((await countEndpoints(tx, workspaceId)) >= endpointsMax) {
      throw new MatteError(
        'CONFLICT',
        `A workspace can have at most ${endpointsMax} webhook endpoints. Delete one first.`,
        {
          details: { limit: endpointsMax },
        },
      )
    }
    const target = toTarget(targetUrl, url)
    const secretSealed = seal(keys, id, signingSecret)
    const common = { id, workspaceId, target, description, secretSealed, headers, createdBy }
    const inserted = await insertEndpoint(tx, { ...common, eventTypes: expandEventTypes(eventTypes) })
    return { ...inserted, welcomed: await welcomeFirstListener(tx, workspaceId, id) }
  })
  return { ...endpoint, signingSecret }
}

async function countEndpoints(db: Db, workspaceId: string): Promise<number> {
  const { count } = await liveEndpoints(db, workspaceId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

type EndpointPatch = Omit<EndpointChanges, 'target' | 'headers'> & {
  readonly target?: { readonly targetUrl: string; readonly url: URL } | undefined
  readonly headers?: { readonly keys: MasterKeys; readonly changes: HeaderChanges } | undefined
  readonly audit?: Audit
}

/**
 * Waiting deliveries move to a new target, or are paused if the endpoint is disabled.
 * @throws MatteError NOT_FOUND; as `storeHeaders` and `keepHeadersFromOtherOrigin`
 */
export async function changeEndpoint(
  db: Db,
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
  { audit, ...patch }: EndpointPatch,
): Promise<EndpointRow & { readonly welcomed: boolean }> {
  const target = patch.target && toTarget(patch.target.targetUrl, patch.target.url)
  const eventTypes = patch.eventTypes && expandEventTypes(patch.eventTypes)
  const endpoint = await db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspaceId)
    const changes = patch.headers?.changes ?? {}
    if (target) await keepHeadersFromOtherOrigin(tx, { workspaceId, id, changes, href: target.href })
    const headers = patch.headers && (await changeHeaders(tx, { workspaceId, id, ...patch.headers }))
    const changed = await updateEndpoint(tx, { workspaceId, id }, { ...patch, target, eventTypes, headers })
    if (changed === undefined) throw endpointNotFound()
    await audit?.(tx)
    return { ...changed, welcomed: await welcomeFirstListener(tx, workspaceId, id) }
  })
  if (endpoint.status === 'disabled') {
    await pauseEndpointDeliveries(db, id)
    return { ...endpoint, ...(await findEndpoint(db, workspaceId, id)) }
  }
  if (target !== undefined) await moveEndpointDeliveries(db, id, target)
  return endpoint
}

type Deletion = { readonly workspaceId: string; readonly id: string; readonly audit?: Audit }

/** @throws MatteError NOT_FOUND */
export async function deleteEndpoint(db: Db, { workspaceId, id, audit }: Deletion): Promise<void> {
  await inTransaction(db, async (tx) => {
    if ((await markEndpointDeleted(tx, workspaceId, id)) === undefined) throw endpointNotFound()
    await audit?.(tx)
  })
  await cancelEndpointDeliveries(db, id)
  await deleteAttemptHours(db, id)
}

export const endpointNotFound = (): MatteError =>
  new MatteError('NOT_FOUND', 'There is no webhook endpoint with this id in your workspace.')

const toTarget = (text: string, url: URL): EndpointTarget => ({
  text,
  href: url.href,
  host: `${url.hostname}:${portOf(url)}`,
})
