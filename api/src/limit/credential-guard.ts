// Guessing of keys: so many failed credentials a minute from one client address, over all replicas (D6). What is wrong
// is refused, and never a key that is right, since many callers may share an address (A59). So a key of the right form
// is always looked up; for an address that is refused a few at a time, which bounds what a flood costs the database.
import { isDatabaseUnavailable } from '@matte/core/db/database'
import type { MatteError } from '@matte/core/error'
import { createGate } from '@matte/core/runtime/concurrency/gate'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { capacityExceeded } from '../errors/answer-error.ts'
import { clientNetwork } from './client-network.ts'
import { rateLimitExceeded } from './limit-requests.ts'
import type { RateLimiter, RateVerdict } from './rate-limiter.ts'

export type CredentialGuard = {
  /**
   * Looks a key up, in turn when the address's minute is known to be used up.
   * @throws MatteError RATE_LIMIT_EXCEEDED when too many wait for their turn: a lack of room and no judgement.
   */
  lookUp<T>(request: FastifyRequest, find: () => Promise<T>): Promise<T>
  /** After a credential failed. @throws MatteError RATE_LIMIT_EXCEEDED when it was one too many. */
  noteFailure(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/** Of the database's connections the same two, whatever number of addresses is refused. */
const lookUpsMax = 2
/** More than this is a flood; a look-up takes about a millisecond. */
const inTurnMax = 34

const refusalMessage = 'Too many failed credentials from your address; try again later.'

export function credentialGuard(limiter: RateLimiter, failuresPerMinute: number): CredentialGuard {
  const subjectOf = ({ ip }: FastifyRequest): string => `credentials:${clientNetwork(ip)}`
  const refuse = (verdict: RateVerdict, reply: FastifyReply): MatteError =>
    rateLimitExceeded(verdict, reply, { limitName: 'credentials', message: refusalMessage })
  const inTurn = createGate(lookUpsMax)
  return {
    lookUp: async (request, find) => {
      if (limiter.refusal(subjectOf(request), failuresPerMinute) === undefined) return find()
      if (inTurn.size() >= inTurnMax) throw capacityExceeded()
      return inTurn.run(find)
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
