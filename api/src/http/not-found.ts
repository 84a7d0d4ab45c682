import { MatteError } from '@matte/core/error'
import type { FastifyInstance } from 'fastify'

type KnownPath = { readonly pattern: RegExp; readonly methods: Set<string> }

/** Answers NOT_FOUND for what is not there; for a known path with another method, `Allow` names the right ones (D3). */
export function answerNotFound(app: FastifyInstance): void {
  const paths = new Map<string, KnownPath>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = paths.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() }
    for (const name of [method].flat()) known.methods.add(name)
    paths.set(url, known)
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    // A path that is there word for word is not an id's, as the router has it.
    const exact = paths.get(path)
    const found = exact ? [exact] : [...paths.values()].filter(({ pattern }) => pattern.test(path))
    const methods = found.flatMap((known) => [...known.methods])
    if (methods.length > 0) reply.header('allow', [...new Set(methods)].sort().join(', '))
    throw new MatteError('NOT_FOUND', methods.length > 0 ? 'This path has no such method.' : 'There is nothing here.')
  })
}

/** `/tasks/:taskId` and `/bucket/*` as expressions; the router's own look-up is not open to us. */
function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+').replace(/\*$/, '.*')}$`)
}
