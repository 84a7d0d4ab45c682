import type { SigningKeysCache } from '@matte/core/identity/signing-keys-cache'
import type { FastifyPluginAsync } from 'fastify'

type JwksDeps = { readonly signingKeys: Pick<SigningKeysCache, 'current'> }

/** A key waits for longer before it signs, see `rotateSigningKeys`. */
const cacheSeconds = 300

/** The public keys of access tokens (D14), the one that signs and the one that waits among them. */
export const jwksRoutes: FastifyPluginAsync<JwksDeps> = async (app, { signingKeys }) => {
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false } } as const
  app.get('/.well-known/jwks.json', options, async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${cacheSeconds}`)
    return { keys: (await signingKeys.current()).map(({ publicJwk }) => publicJwk) }
  })
}
