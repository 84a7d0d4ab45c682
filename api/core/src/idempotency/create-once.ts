// Something is made once however often its request is sent (D42). The record of the key is written in the transaction
// that makes the thing: both are there or neither, whatever dies, and a refusal leaves the key unused.
//
// How a route gets this: it declares `config: { idempotent: (request, id) => view }`, which renders what it has made
// before (see api/src/http/idempotency.ts); it hands `request.once` to its core function, and that one runs its
// transaction by `createOnce` in place of `db.transaction().execute`. Nothing else is to be done.
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { invalidParam } from '../invalid-params.ts'
import { findRequest, type RequestIdentity, recordOutcome, takeKey } from './idempotency-queries.ts'

/** A request with its key, and the status it is answered with when it succeeds. */
export type OnceRequest = RequestIdentity & { readonly status: number }

export type FirstOutcome = { readonly resourceId: string; readonly status: number }

/** The request has succeeded before; whoever answers it renders that. */
export class AlreadyCreated extends Error {
  override name = 'AlreadyCreated'
  readonly outcome: FirstOutcome
  constructor(outcome: FirstOutcome) {
    super('the request under this idempotency key has succeeded before')
    this.outcome = outcome
  }
}

/**
 * What the same request led to before; undefined when it has not succeeded yet.
 * @throws MatteError INVALID_PARAMS when the key came with another body
 */
export async function findOutcome(db: Db, request: OnceRequest): Promise<FirstOutcome | undefined> {
  const found = await findRequest(db, request)
  if (found === undefined) return undefined
  if (!found.bodyHash.equals(request.bodyHash)) {
    throw invalidParam('/headers/idempotency-key', 'was used with another body; take a new key for a new request')
  }
  return { resourceId: found.resourceId, status: found.status }
}

/**
 * Runs `create` in one transaction, under the request's key if it has one. Without a key: a plain transaction.
 * @throws AlreadyCreated; MatteError INVALID_PARAMS (another body), CONFLICT (the same request is being worked on)
 */
export function createOnce<T extends { readonly id: string }>(
  db: Db,
  request: OnceRequest | undefined,
  create: (tx: Db) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (tx) => {
    if (request === undefined) return create(tx)
    await takeOrRefuse(tx, request)
    const resource = await create(tx)
    await recordOutcome(tx, request, { resourceId: resource.id, status: request.status })
    return resource
  })
}

/** Seconds until the other request's transaction is surely over, bar a database that hangs. */
const busyRetrySeconds = 1

async function takeOrRefuse(tx: Db, request: OnceRequest): Promise<void> {
  const key = await takeKey(tx, request)
  if (key === 'taken') return
  const outcome = key === 'used' ? await findOutcome(tx, request) : undefined
  if (outcome !== undefined) throw new AlreadyCreated(outcome)
  throw new MatteError('CONFLICT', 'A request with this Idempotency-Key is being worked on; send it again.', {
    details: { retryAfter: busyRetrySeconds },
  })
}
