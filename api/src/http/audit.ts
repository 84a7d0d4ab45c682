// Every change that a member makes through the App API is noted (D74): after it is committed and before it is answered.
// One hook for all routes, so that none is forgotten; its price: a process that dies between the two has made a change
// that is in the log of requests and not among the entries.
import { recordChange } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { needsCredential, surfaceOf } from '../access.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: the change is noted without the client's address. */
    auditsAddress?: false
  }
}

export function auditChanges(app: FastifyInstance, db: Db): void {
  app.addHook('preSerialization', async (request, reply, payload) => {
    if (isChange(request) && reply.statusCode < 300) await note(request, payload)
    return payload
  })

  async function note(request: FastifyRequest, payload: unknown): Promise<void> {
    const { member, routeOptions, ip, id } = request
    const { operationId = '' } = (routeOptions.schema ?? {}) as { readonly operationId?: string }
    try {
      const target = targetOf(request, payload)
      const { workspaceId, userId } = member
      const ipAddress = routeOptions.config.auditsAddress === false ? null : ip
      await recordChange(db, { workspaceId, userId, action: operationId, target, ipAddress, requestId: id })
    } catch (error) {
      // The change is made; to answer an error would have it made again.
      request.log.error({ err: error, action: operationId }, 'change not audited')
    }
  }
}

const isChange = ({ method, routeOptions: { config } }: FastifyRequest): boolean =>
  method !== 'GET' && method !== 'HEAD' && needsCredential(config) && surfaceOf(config) === 'app'

/** The last id of the path, else that of what was made. The team's comes last: the entry is in its log. */
function targetOf({ params }: FastifyRequest, payload: unknown): string | null {
  const { teamId, ...ids } = (params ?? {}) as Record<string, string>
  const { id } = ((payload as { data?: { id?: unknown } } | null)?.data ?? {}) as { readonly id?: unknown }
  const target = Object.values(ids).at(-1) ?? (typeof id === 'string' ? id : teamId)
  return target?.slice(0, 200) ?? null
}
