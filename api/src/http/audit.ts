// Records every change by a member through the App API, after the commit and before the response. A process that
// dies in between loses the entry.

import type { Db } from '@matte/core/db/database'
import { findPersonalWorkspace } from '@matte/people/identity/account/own-workspaces'
import { recordChange } from '@matte/people/team/audit-log'
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyRequest,
  preSerializationAsyncHookHandler,
  RouteOptions,
} from 'fastify'
import { needsCredential, surfaceOf } from '../access.ts'
import { clientAddress } from '../limit/client-network.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: recorded without the client's address. */
    auditsAddress?: false
  }
}

export function auditChanges(app: FastifyInstance, db: Db): void {
  app.addHook('onRoute', (route) => {
    if (!isChange(route)) return
    const audit: preSerializationAsyncHookHandler = async (request, reply, payload) => {
      if (reply.statusCode < 300) await note(request, payload)
      return payload
    }
    route.preSerialization = [route.preSerialization ?? [], audit].flat()
  })

  async function note(request: FastifyRequest, payload: unknown): Promise<void> {
    const { member, routeOptions, ip, id } = request
    const { operationId = '' } = (routeOptions.schema ?? {}) as { readonly operationId?: string }
    try {
      const target = targetOf(request, payload)
      const { userId } = member
      const workspaceId = await logOf(db, request)
      const ipAddress = routeOptions.config.auditsAddress === false ? null : clientAddress(ip)
      await recordChange(db, { workspaceId, userId, action: operationId, target, ipAddress, requestId: id })
    } catch (error) {
      // The change is committed; an error response would make the client repeat it.
      request.log.error({ err: error, action: operationId }, 'change not audited')
    }
  }
}

/** Changes with access `self` go to the personal workspace: the admins of a team must not read them. */
async function logOf(db: Db, { member, routeOptions }: FastifyRequest): Promise<string | null> {
  if (typeof routeOptions.config.access === 'object') return member.workspaceId
  return (await findPersonalWorkspace(db, member.userId))?.id ?? null
}

const hasCaller = (config: FastifyContextConfig): boolean => needsCredential(config) || config.readsToken === true

/** Operators are no members: their changes have no workspace, and no audit log of one. */
const isChange = ({ method, config = {} }: RouteOptions): boolean =>
  config.access !== 'operator' &&
  method !== 'GET' &&
  method !== 'HEAD' &&
  hasCaller(config) &&
  surfaceOf(config) === 'app'

/** The last id of the path, else the id in the response, else the team's. */
function targetOf({ params }: FastifyRequest, payload: unknown): string | null {
  const { teamId, ...ids } = (params ?? {}) as Record<string, string>
  const { id } = ((payload as { data?: { id?: unknown } } | null)?.data ?? {}) as { readonly id?: unknown }
  const target = Object.values(ids).at(-1) ?? (typeof id === 'string' ? id : teamId)
  return target?.slice(0, 200) ?? null
}
