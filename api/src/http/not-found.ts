import { MatteError } from '@matte/core/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ConsolePage } from '../console/console-page.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Handler of unknown paths, for a plugin whose errors have their own form. @throws MatteError NOT_FOUND */
    refuseUnknown(request: FastifyRequest, reply: FastifyReply): never
  }
}

type KnownPath = { readonly pattern: RegExp; readonly methods: Set<string> }

/**
 * Returns NOT_FOUND; for a known path with another method, `Allow` lists the right ones. A browser that opens any
 * other address gets the console, if there is one.
 */
export function addNotFoundHandler(app: FastifyInstance, page: ConsolePage | undefined): void {
  const paths = new Map<string, KnownPath>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = paths.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() }
    for (const name of [method].flat()) known.methods.add(name)
    paths.set(url, known)
  })
  function refuseUnknown(request: FastifyRequest, reply: FastifyReply): never {
    const path = request.url.split('?')[0] ?? ''
    // A literal path wins over a parameter, as in the router.
    const exact = paths.get(path)
    const found = exact ? [exact] : [...paths.values()].filter(({ pattern }) => pattern.test(path))
    const methods = found.flatMap((known) => [...known.methods])
    if (methods.length > 0) reply.header('allow', [...new Set(methods)].sort().join(', '))
    throw new MatteError('NOT_FOUND', methods.length > 0 ? 'This path has no such method.' : 'There is nothing here.')
  }
  app.decorate('refuseUnknown', refuseUnknown)
  app.setNotFoundHandler((request, reply) => page?.respond(request, reply) ?? refuseUnknown(request, reply))
}

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+').replace(/\*$/, '.*')}$`)
}
