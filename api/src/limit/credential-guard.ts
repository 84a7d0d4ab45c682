// Limits failed credentials per minute and client address over all replicas. Only failures are refused, never a valid
// key, because many callers may share an address (A59). Keys from a refused address are looked up two at a time, which
// bounds the load of a flood.
import { isDatabaseUnavailable } from '@matte/core/db/database-errors'
import type { MatteError } from '@matte/core/error'
import type { FastifyReply, FastifyRequest } from 'fastify'
import pLimit from 'p-limit'
import { capacityExceeded } from '../errors/error-handler.ts'
import { clientNetwork } from './client-network.ts'
import { rateLimitExceeded } from './limit-requests.ts'
import type { RateLimiter, RateVerdict } from './rate-limiter.ts'

export type CredentialGuard = {
  /** Queued once the address has reached its limit. @throws MatteError RATE_LIMIT_EXCEEDED when the queue is full */
  lookUp<T>(request: FastifyRequest, find: () => Promise<T>): Promise<T>
  /** Counts a failed credential. @throws MatteError RATE_LIMIT_EXCEEDED above the limit */
  noteFailure(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/** Connections for all refused addresses together. */
const lookUpsMax = 2
const inTurnMax = 34

const refusalMessage = 'Too many failed credentials from your address; try again later.'

export function credentialGuard(limiter: RateLimiter, failuresPerMinute: number): CredentialGuard {
  const subjectOf = ({ ip }: FastifyRequest): string => `credentials:${clientNetwork(ip)}`
  const refuse = (verdict: RateVerdict, reply: FastifyReply): MatteError =>
    rateLimitExceeded(verdict, reply, { limitName: 'credentials', message: refusalMessage })
  const inTurn = pLimit(lookUpsMax)
  return {
    lookUp: async (request, find) => {
      if (limiter.refusal(subjectOf(request), failuresPerMinute) === undefined) return find()
      if (inTurn.activeCount + inTurn.pendingCount >= inTurnMax) throw capacityExceeded()
      return inTurn(find)
    },
    noteFailure: async (request, reply) => {
      const verdict = await limiter.take(subjectOf(request), failuresPerMinute).catch((error: unknown) => {
        if (isDatabaseUnavailable(error)) return undefined // the credential is wrong in any case
        throw error
      })
      if (verdict?.allowed === false) throw refuse(verdict, reply)
    },
  }
}
