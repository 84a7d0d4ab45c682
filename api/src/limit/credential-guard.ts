// Guessing of keys is stopped in front of the look-up: so many failed credentials a minute from one client address,
// over all replicas (D6). A key that was found before is let through, so that one bad neighbour behind a shared
// address does not lock out those who are known.
import { isDatabaseUnavailable } from '@matte/core/db/database'
import type { MatteError } from '@matte/core/error'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientNetwork } from './client-network.ts'
import { rateLimitExceeded } from './limit-requests.ts'
import type { RateLimiter, RateVerdict } from './rate-limiter.ts'

export type CredentialGuard = {
  /** Before a look-up. @throws MatteError RATE_LIMIT_EXCEEDED when the address's minute is known to be used up. */
  admit(request: FastifyRequest, reply: FastifyReply): void
  /** After a credential failed. @throws MatteError RATE_LIMIT_EXCEEDED when it was one too many. */
  noteFailure(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

const refusalMessage = 'Too many failed credentials from your address; try again later.'

export function credentialGuard(limiter: RateLimiter, failuresPerMinute: number): CredentialGuard {
  const subjectOf = ({ ip }: FastifyRequest): string => `credentials:${clientNetwork(ip)}`
  const refuse = (verdict: RateVerdict, reply: FastifyReply): MatteError =>
    rateLimitExceeded(verdict, reply, { limitName: 'credentials', message: refusalMessage })
  return {
    admit: (request, reply) => {
      const refused = limiter.refusal(subjectOf(request), failuresPerMinute)
      if (refused !== undefined) throw refuse(refused, reply)
    },
    noteFailure: async (request, reply) => {
      const verdict = await limiter.take(subjectOf(request), failuresPerMinute).catch((error: unknown) => {
        if (isDatabaseUnavailable(error)) return undefined // the credential is wrong all the same
        throw error
      })
      if (verdict?.allowed === false) throw refuse(verdict, reply)
    },
  }
}
