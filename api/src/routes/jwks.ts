import type { SigningKeysCache } from '@matte/people/identity/session/signing-keys'
import type { FastifyPluginAsync } from 'fastify'

type JwksDeps = { readonly signingKeys: Pick<SigningKeysCache, 'current'> }

/** A key is published for longer than this before it signs, see `rotateSigningKeys`. */
const cacheSeconds = 300

/** Public keys of access tokens: the signing key and the next one. */
export const jwksRoutes: FastifyPluginAsync<JwksDeps> = async (app, { signingKeys }) => {
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false } } as const
  app.get('/api/v1/.well-known/jwks.json', options, async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${cacheSeconds}`)
    return { keys: (await signingKeys.current()).map(({ publicJwk }) => publicJwk) }
  })
}
