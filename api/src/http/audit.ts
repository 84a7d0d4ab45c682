// Audit entries of requests (D74). A route that changes something passes `auditOf` to the function that changes it, or
// wraps a function of one transaction in `commitChange`. test/app/audit-walk.test.ts fails for a route without either.

import type { IncomingHttpHeaders } from 'node:http'
import { type Audit, type ChangeOrigin, recordChange } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { isDeadlock } from '@matte/core/db/fail-fast-pool'
import { inTransaction } from '@matte/core/db/in-transaction'
import { findPersonalWorkspace } from '@matte/people/identity/account/own-workspaces'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { clientAddress } from '../limit/client-network.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: recorded without address and user agent of the client. */
    auditsAddress?: false
  }
}

/** Any request, whatever its schema. */
type Audited = Pick<FastifyRequest, 'id' | 'ownId' | 'ip' | 'caller' | 'member' | 'operator'> & {
  readonly headers: IncomingHttpHeaders
  readonly params: unknown
  readonly body: unknown
  readonly routeOptions: { readonly config: FastifyContextConfig; readonly schema?: unknown }
}

type Given = {
  /** Person whom the request proved to be, on a route without a credential. */
  readonly userId?: string
  /** Action on a route without an operationId. */
  readonly action?: string
  /** Actor on an operator's route without a credential. */
  readonly actor?: 'operator'
}

/** The entry of a request. */
export function auditOf(request: Audited, given: Given = {}): Audit {
  const origin = originOf(request, given)
  const { operationId = '' } = (request.routeOptions.schema ?? {}) as { readonly operationId?: string }
  const { reason } = (request.body ?? {}) as { readonly reason?: unknown }
  return async (tx, made) =>
    recordChange(tx, {
      ...origin,
      workspaceId: await logOf(tx, request, origin),
      action: given.action ?? operationId,
      target: targetOf(request, made),
      reason: typeof reason === 'string' ? reason : null,
    })
}

/**
 * Commits a change with its entry, or neither. `change` may run a second time, after a deadlock. The target is the
 * `id` that it returns, unless the path names one.
 */
export async function commitChange<T>(db: Db, request: Audited, change: (tx: Db) => Promise<T>): Promise<T> {
  const audit = auditOf(request)
  const commit = (): Promise<T> =>
    inTransaction(db, async (tx) => {
      const result = await change(tx)
      const { id } = (result ?? {}) as { readonly id?: unknown }
      await audit(tx, typeof id === 'string' ? id : undefined)
      return result
    })
  return commit().catch((error: unknown) => (isDeadlock(error) ? commit() : Promise.reject(error)))
}

export function originOf(request: Audited, given: Given = {}): ChangeOrigin {
  const { id, ownId, ip, headers, routeOptions, caller, member, operator } = request
  const apiKeyId = caller?.apiKeyId ?? null
  const userId = given.userId ?? member?.userId ?? null
  const isShown = routeOptions.config.auditsAddress !== false
  return {
    actor: given.actor ?? (operator ? 'operator' : apiKeyId !== null ? 'api-key' : 'member'),
    userId,
    apiKeyId,
    ipAddress: isShown ? clientAddress(ip) : null,
    userAgent: isShown ? (headers['user-agent'] ?? null) : null,
    requestId: ownId,
    clientRequestId: ownId === id ? null : id,
  }
}

/** Changes with access `self` go to the personal workspace: the admins of a team must not read them. */
async function logOf(tx: Db, { caller, routeOptions }: Audited, { userId }: ChangeOrigin): Promise<string | null> {
  if (typeof routeOptions.config.access === 'object') return caller.workspaceId
  return userId === null ? null : ((await findPersonalWorkspace(tx, userId))?.id ?? null)
}

/** The last id of the path, else that of the new resource, else the team's. */
function targetOf({ params }: Audited, made: string | undefined): string | null {
  const { teamId, ...ids } = (params ?? {}) as Record<string, string>
  return Object.values(ids).at(-1) ?? made ?? teamId ?? null
}
