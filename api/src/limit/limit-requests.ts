import { MatteError } from '@matte/core/error'
import { windowSeconds } from '@matte/core/rate-limit/rate-window-queries'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientNetwork } from './client-network.ts'
import type { RateLimiter, RateVerdict } from './rate-limiter.ts'

/** Whose request it is: a workspace's, whatever key or member sends it, or a person's own. */
type Payer = { readonly holder: string; readonly requestsPerMinute: number }

/**
 * Counts the request against the limit of who pays for it, and puts the headers of D6 on the answer, be it an error or
 * not.
 * @throws MatteError RATE_LIMIT_EXCEEDED
 */
export async function limitRequests(
  limiter: RateLimiter,
  { holder, requestsPerMinute }: Payer,
  reply: FastifyReply,
): Promise<void> {
  const verdict = await limiter.take(holder, requestsPerMinute)
  const { limit, remaining, resetsAt, resetsInSeconds } = verdict
  reply.headers({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': resetsAt,
    'ratelimit-policy': `"default";q=${limit};w=${windowSeconds}`,
    ratelimit: `"default";r=${remaining};t=${resetsInSeconds}`,
  })
  if (verdict.allowed) return
  const message = `Your plan takes ${limit} requests a minute; try again later.`
  throw rateLimitExceeded(verdict, reply, { limitName: 'requests', message })
}

/**
 * Counts a request to an operation that needs no credential against its client's address.
 * @throws MatteError RATE_LIMIT_EXCEEDED
 */
export async function limitAddress(
  limiter: RateLimiter,
  perMinute: number,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<void> {
  const verdict = await limiter.take(`open:${clientNetwork(request.ip)}`, perMinute)
  if (verdict.allowed) return
  const message = `This takes ${perMinute} requests a minute from one address; try again later.`
  throw rateLimitExceeded(verdict, reply, { limitName: 'address', message })
}

/** Sets `Retry-After` itself: unlike other waits, this one may be known from an earlier answer of the database. */
export function rateLimitExceeded(
  { limit, resetsAt, resetsInSeconds }: RateVerdict,
  reply: FastifyReply,
  {
    limitName,
    message,
  }: { readonly limitName: 'requests' | 'credentials' | 'address' | 'exports'; readonly message: string },
): MatteError {
  reply.header('retry-after', resetsInSeconds)
  return new MatteError('RATE_LIMIT_EXCEEDED', message, {
    details: { limit: limitName, perMinute: limit, resetsAt: new Date(resetsAt * 1_000).toISOString() },
  })
}
