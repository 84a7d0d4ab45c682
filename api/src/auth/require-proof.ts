// Operations with `needsProof` ask for the password or a code again if the session has not had one for ten minutes: a
// stolen access token or an unlocked computer must not make a key, read everything, or change payments and rights.
// API keys and operators have other credentials, and are never asked.
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { proofMinutes, readProof } from '@matte/people/identity/session/session-proof'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Operations of members, and of `self`. */
    needsProof?: true
  }
}

export const proofPath = '/api/v1/app/auth/sessions/current/proof'

export const proofRequired = {
  reason: 'proof_required',
  prove: `POST ${proofPath}`,
  maxAgeSeconds: proofMinutes * 60,
} as const

/** Runs before the body is read, as a missing role does. */
export function requireProof(app: FastifyInstance, db: Db): void {
  app.addHook('onRequest', async ({ routeOptions, member }) => {
    if (!routeOptions.config.needsProof) return
    const { isRecent, fields } = await readProof(db, member.sessionId)
    if (isRecent) return
    const message = `Send your password or a code to ${proofPath}, then repeat this request.`
    throw new MatteError('AUTH_FORBIDDEN', message, { details: { ...proofRequired, fields } })
  })
}
