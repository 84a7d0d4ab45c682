// `Idempotency-Key` (D42). A route declares `config: { idempotent: … }` and passes `request.once` to its core function,
// which runs its transaction through `createOnce`. A handler that reads its body itself calls `request.identify`. A
// replay skips every check that the first request passed, including maintenance and limits.
import { createHash } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { AlreadyCreated, type FirstOutcome, findOutcome, type OnceRequest } from '@matte/core/idempotency/create-once'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Type } from 'typebox'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Returns the response of a replay: the resource as it is now, without one-time secrets. */
    idempotent?: (request: FastifyRequest, resourceId: string, reply: FastifyReply) => Promise<unknown>
  }
  interface FastifyRequest {
    once: OnceRequest | undefined
    /**
     * Sets `once` by the body, or by an equivalent of it. The handler of a `rawBody` calls it and lets AlreadyCreated
     * pass.
     * @throws AlreadyCreated; MatteError INVALID_PARAMS if the key was used with another body
     */
    identify(body: unknown): Promise<void>
  }
}

const keyHeader = (scope: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A key that you choose, unique per request. Repeating the request within 24 h returns the resource of ' +
        `the first one, with \`Idempotent-Replayed: true\`, and creates and charges nothing. ${scope}`,
      examples: ['order-4711'],
    }),
  )
const scopes = {
  workspace: 'The key is unique within the workspace, whichever member or API key sends it.',
  person: 'The key is unique among yours, whichever workspace the token is for.',
}

export function addIdempotency(app: FastifyInstance, db: Db): void {
  app.decorateRequest('once', undefined)
  app.decorateRequest('identify', async function identify(this: FastifyRequest, body: unknown) {
    this.once = identityOf(this, body)
    const outcome = this.once && (await findOutcome(db, this.once))
    if (outcome !== undefined) throw new AlreadyCreated(outcome)
  })
  app.addHook('onRoute', (route) => {
    const replay = route.config?.idempotent
    if (replay === undefined) return
    documentKey(route)
    const { handler } = route
    const readsBody = route.config?.rawBody !== undefined
    const answer = async (request: FastifyRequest, reply: FastifyReply, outcome: FirstOutcome): Promise<unknown> => {
      reply.code(outcome.status)
      const view = await replay(request, outcome.resourceId, reply)
      reply.header('idempotent-replayed', 'true')
      return view
    }
    route.handler = async function once(request, reply) {
      try {
        if (!readsBody) await request.identify(request.sentBody)
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

function successStatus({ method, url, schema }: FastifyRequest['routeOptions']): number {
  const status = Object.keys((schema?.response ?? {}) as object).find((code) => code.startsWith('2'))
  if (status === undefined) throw new Error(`route ${String(method)} ${url} is idempotent and documents no success`)
  return Number(status)
}

const ownerOf = ({ caller, member, routeOptions }: FastifyRequest): OnceRequest['owner'] =>
  routeOptions.config.access === 'self' ? { userId: member.userId } : { workspaceId: caller.workspaceId }

function identityOf(request: FastifyRequest, body: unknown): OnceRequest | undefined {
  const { method, headers, routeOptions, params } = request
  const key = headers['idempotency-key']
  if (typeof key !== 'string') return undefined
  // Normalizes ids: `%61` and `A` name the task that `a` names.
  const ids = params as Readonly<Record<string, string>>
  const path = (routeOptions.url ?? '').replace(/:(\w+)/g, (_, name: string) => (ids[name] ?? '').toLowerCase())
  // Hashed without defaults, so a release that changes a default does not invalidate keys.
  const bodyHash = createHash('sha256')
    .update(canonicalJson(body ?? null))
    .digest()
  return { owner: ownerOf(request), method, path, key, bodyHash, status: successStatus(routeOptions) }
}

/** Equal text for equivalent bodies: members sorted, absent and null alike. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    const members = Object.entries(inner).filter(([, member]) => member !== null && member !== undefined)
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
