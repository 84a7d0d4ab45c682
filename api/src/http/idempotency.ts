// `Idempotency-Key` (D42), by declaration: a route that makes something says `config: { idempotent: … }`, gives
// `request.once` to its core function, and that runs its transaction by `createOnce`. Here is the rest: the key is
// read and documented, a request that has succeeded before is answered without running the route again, and so is one
// whose twin succeeds while it runs. A replay comes before every check that the first request has passed, so neither
// maintenance nor a limit reached meanwhile refuses it.
import { createHash } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { AlreadyCreated, type FirstOutcome, findOutcome, type OnceRequest } from '@matte/core/idempotency/create-once'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Type } from 'typebox'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The route makes one thing per `Idempotency-Key`. The function answers a replay: the thing with this id as it now
     * is, without what is shown once. It may throw the route's own not-found.
     */
    idempotent?: (request: FastifyRequest, resourceId: string, reply: FastifyReply) => Promise<unknown>
  }
  interface FastifyRequest {
    /** For `createOnce`; undefined when the caller sent no key. */
    once: OnceRequest | undefined
  }
}

const keyHeader = (scope: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Chosen by you, new for each new request. The same request sent again within 24 h answers what the first ' +
        `one made, with \`Idempotent-Replayed: true\`, and makes and charges nothing. ${scope}`,
      examples: ['order-4711'],
    }),
  )
const scopes = {
  workspace: 'The key counts within the workspace, whichever member or API key sends it.',
  person: 'The key counts for you, whichever workspace the token is for.',
}

/** To be called before the routes are registered. */
export function honourIdempotencyKeys(app: FastifyInstance, db: Db): void {
  app.decorateRequest('once', undefined)
  app.addHook('onRoute', (route) => {
    const replay = route.config?.idempotent
    if (replay === undefined) return
    documentKey(route)
    const { handler } = route
    const status = successStatus(route)
    const answer = async (request: FastifyRequest, reply: FastifyReply, outcome: FirstOutcome): Promise<unknown> => {
      const view = await replay(request, outcome.resourceId, reply)
      reply.code(outcome.status).header('idempotent-replayed', 'true')
      return view
    }
    route.handler = async function once(request, reply) {
      const identity = identify(request, status)
      const before = identity && (await findOutcome(db, identity))
      if (before !== undefined) return answer(request, reply, before)
      request.once = identity
      try {
        return await handler.call(this, request, reply)
      } catch (error) {
        if (error instanceof AlreadyCreated) return answer(request, reply, error.outcome)
        throw error
      }
    }
  })
}

function documentKey(route: RouteOptions): void {
  const { properties = {} } = (route.schema?.headers ?? {}) as {
    properties?: Record<string, ReturnType<typeof Type.Any>>
  }
  const scope = route.config?.access === 'self' ? scopes.person : scopes.workspace
  route.schema = { ...route.schema, headers: Type.Object({ ...properties, 'Idempotency-Key': keyHeader(scope) }) }
}

/** The one 2xx that the route's schema documents. */
function successStatus({ method, url, schema }: RouteOptions): number {
  const status = Object.keys((schema?.response ?? {}) as object).find((code) => code.startsWith('2'))
  if (status === undefined) throw new Error(`route ${String(method)} ${url} is idempotent and documents no success`)
  return Number(status)
}

/** A request about a person alone is the same in each workspace, and never that of another member. */
const ownerOf = ({ caller, member, routeOptions }: FastifyRequest): OnceRequest['owner'] =>
  routeOptions.config.access === 'self' ? { userId: member.userId } : { workspaceId: caller.workspaceId }

function identify(request: FastifyRequest, status: number) {
  const { method, headers, routeOptions, params, sentBody } = request
  const key = headers['idempotency-key']
  if (typeof key !== 'string') return undefined
  // The ids of a path in one spelling: `%61` and `A` name the task that `a` names.
  const ids = params as Readonly<Record<string, string>>
  const path = (routeOptions.url ?? '').replace(/:(\w+)/g, (_, name: string) => (ids[name] ?? '').toLowerCase())
  // As it was sent: a default that changes with a release leaves the keys of before it as they are.
  const bodyHash = createHash('sha256')
    .update(canonicalJson(sentBody ?? null))
    .digest()
  return { owner: ownerOf(request), method, path, key, bodyHash, status }
}

/**
 * The same text for bodies that mean the same: members sorted, absent and null alike. Unknown fields are gone by now,
 * so depth is the schema's.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    const members = Object.entries(inner).filter(([, member]) => member !== null && member !== undefined)
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
