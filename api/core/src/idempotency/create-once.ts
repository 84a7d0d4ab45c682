// Idempotent creation (D42). The transaction that creates the resource also writes the record of the key, so a crash
// leaves both or neither, and a rejected request leaves the key unused.
// A route declares `config: { idempotent: (request, id) => view }` (api/src/http/idempotency.ts) and passes
// `request.once` to its core function, which uses `createOnce` instead of `db.transaction().execute`.
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/in-transaction.ts'
import { MatteError } from '../error.ts'
import { invalidParam } from '../invalid-params.ts'
import { findRequest, type RequestIdentity, recordOutcome, takeKey } from './idempotency-queries.ts'

/** Request with its key, and the status of its success. */
export type OnceRequest = RequestIdentity & { readonly status: number }

export type FirstOutcome = { readonly resourceId: string; readonly status: number }

/** The request succeeded before; the route renders the stored outcome. */
export class AlreadyCreated extends Error {
  override name = 'AlreadyCreated'
  readonly outcome: FirstOutcome
  constructor(outcome: FirstOutcome) {
    super('the request under this idempotency key has succeeded before')
    this.outcome = outcome
  }
}

/**
 * Outcome of an earlier success of the request.
 * @throws MatteError INVALID_PARAMS if the key was used with another body
 */
export async function findOutcome(db: Db, request: OnceRequest): Promise<FirstOutcome | undefined> {
  const found = await findRequest(db, request)
  if (found === undefined) return undefined
  if (!found.bodyHash.equals(request.bodyHash)) {
    throw invalidParam('/headers/idempotency-key', 'was used with another body; use a new key for a new request')
  }
  return { resourceId: found.resourceId, status: found.status }
}

/**
 * Runs `create` in the caller's transaction or its own, under the request's key if it has one.
 * @throws AlreadyCreated; MatteError INVALID_PARAMS (another body), CONFLICT (the same request is in progress)
 */
export function createOnce<T extends { readonly id: string }>(
  db: Db,
  request: OnceRequest | undefined,
  create: (tx: Db) => Promise<T>,
): Promise<T> {
  return inTransaction(db, async (tx) => {
    if (request === undefined) return create(tx)
    await takeOrRefuse(tx, request)
    const resource = await create(tx)
    await recordOutcome(tx, request, { resourceId: resource.id, status: request.status })
    return resource
  })
}

const busyRetrySeconds = 1

async function takeOrRefuse(tx: Db, request: OnceRequest): Promise<void> {
  const key = await takeKey(tx, request)
  if (key === 'taken') return
  const outcome = key === 'used' ? await findOutcome(tx, request) : undefined
  if (outcome !== undefined) throw new AlreadyCreated(outcome)
  throw new MatteError('CONFLICT', 'A request with this Idempotency-Key is in progress; send it again.', {
    details: { retryAfter: busyRetrySeconds },
  })
}
