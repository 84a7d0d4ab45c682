// Every change that a member makes through the App API is noted (D74): after it is committed and before it is answered.
// One hook for all routes, so that none is forgotten; its price: a process that dies between the two has made a change
// that is in the log of requests and not among the entries.
import { recordChange } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { findPersonalWorkspace } from '@matte/core/identity/personal/own-workspaces'
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyRequest,
  preSerializationAsyncHookHandler,
  RouteOptions,
} from 'fastify'
import { needsCredential, surfaceOf } from '../access.ts'
import { clientAddress } from '../client-address.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: the change is noted without the client's address. */
    auditsAddress?: false
  }
}

export function auditChanges(app: FastifyInstance, db: Db): void {
  // On the routes that change something alone: the others do not pay for it.
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
      // The change is made; to answer an error would have it made again.
      request.log.error({ err: error, action: operationId }, 'change not audited')
    }
  }
}

/**
 * What concerns a person alone, such as the password or another team, stands in the log of the personal workspace:
 * whoever runs the team of the token has no business to read it.
 */
async function logOf(db: Db, { member, routeOptions }: FastifyRequest): Promise<string | null> {
  if (typeof routeOptions.config.access === 'object') return member.workspaceId
  return (await findPersonalWorkspace(db, member.userId))?.id ?? null
}

const hasCaller = (config: FastifyContextConfig): boolean => needsCredential(config) || config.readsToken === true

const isChange = ({ method, config = {} }: RouteOptions): boolean =>
  method !== 'GET' && method !== 'HEAD' && hasCaller(config) && surfaceOf(config) === 'app'

/** The last id of the path, else that of what was made. The team's comes last: the entry is in its log. */
function targetOf({ params }: FastifyRequest, payload: unknown): string | null {
  const { teamId, ...ids } = (params ?? {}) as Record<string, string>
  const { id } = ((payload as { data?: { id?: unknown } } | null)?.data ?? {}) as { readonly id?: unknown }
  const target = Object.values(ids).at(-1) ?? (typeof id === 'string' ? id : teamId)
  return target?.slice(0, 200) ?? null
}
