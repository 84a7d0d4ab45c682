import { MatteError } from '@matte/core/error'
import { windowSeconds } from '@matte/core/rate-windows'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientNetwork } from './client-network.ts'
import type { RateLimiter, RateVerdict } from './rate-limiter.ts'

/** The workspace of a request, or the person for `self`. */
type Payer = {
  readonly holder: string
  /** Counts against the same limit, but does not set the headers. */
  readonly member?: string | undefined
  readonly requestsPerMinute: number
}

/** Counts the request and sets the rate-limit headers on the response. @throws MatteError RATE_LIMIT_EXCEEDED */
export async function limitRequests(
  limiter: RateLimiter,
  { holder, member, requestsPerMinute }: Payer,
  reply: FastifyReply,
): Promise<void> {
  const subjects = member === undefined ? [holder] : [holder, member]
  const verdict = await takeAll(limiter, subjects, requestsPerMinute)
  noteLimit(verdict, reply)
  if (verdict.allowed) return
  if (verdict.subject !== member) {
    const message = `Your plan allows ${verdict.limit} requests a minute; try again later.`
    throw rateLimitExceeded(verdict, reply, { limitName: 'requests', message })
  }
  const message = `Your workspaces on the plan Free share ${verdict.limit} requests a minute; try again later.`
  throw rateLimitExceeded(verdict, reply, { limitName: 'person', message })
}

type SubjectVerdict = RateVerdict & { readonly subject: string }

/** The first refusal, else the verdict on the first subject. After a known refusal nothing is counted. */
async function takeAll(limiter: RateLimiter, subjects: readonly string[], limit: number): Promise<SubjectVerdict> {
  for (const subject of subjects) {
    const refused = limiter.refusal(subject, limit)
    if (refused !== undefined) return { ...refused, subject }
  }
  const verdicts = await Promise.all(
    subjects.map(async (subject) => ({ ...(await limiter.take(subject, limit)), subject })),
  )
  return (verdicts.find(({ allowed }) => !allowed) ?? verdicts[0]) as SubjectVerdict // one per subject
}

function noteLimit({ limit, remaining, resetsAt, resetsInSeconds }: RateVerdict, reply: FastifyReply): void {
  reply.headers({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': resetsAt,
    'ratelimit-policy': `"default";q=${limit};w=${windowSeconds}`,
    ratelimit: `"default";r=${remaining};t=${resetsInSeconds}`,
  })
}

/** The console polls some ten operations every few seconds. */
const operatorRequestsPerMinute = 600

/** Counts a request of an operator and sets the rate-limit headers. @throws MatteError RATE_LIMIT_EXCEEDED */
export async function limitOperator(limiter: RateLimiter, holder: string, reply: FastifyReply): Promise<void> {
  const verdict = await limiter.take(holder, operatorRequestsPerMinute)
  noteLimit(verdict, reply)
  if (verdict.allowed) return
  const message = `An operator may send ${operatorRequestsPerMinute} requests a minute; try again later.`
  throw rateLimitExceeded(verdict, reply, { limitName: 'requests', message })
}

/** Counts a request against the limit of its route. @throws MatteError RATE_LIMIT_EXCEEDED */
export async function limitRoute(
  limiter: RateLimiter,
  perMinute: number,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<void> {
  const { url } = request.routeOptions
  const verdict = await limiter.take(`workspace:${request.caller.workspaceId}:${url}`, perMinute)
  noteLimit(verdict, reply)
  if (verdict.allowed) return
  const message = `This operation allows ${perMinute} requests a minute; try again later.`
  throw rateLimitExceeded(verdict, reply, { limitName: 'requests', message })
}

/**
 * Counts an image by its megapixels, rounded up, as remove.bg does. The caller writes its header, so an unknown size
 * counts as the largest of the plan. The limit is the plan's requests per minute, and no image counts more than that.
 * Sets the rate-limit headers.
 * @throws MatteError RATE_LIMIT_EXCEEDED
 */
export async function limitMegapixels(
  limiter: RateLimiter,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  pixels: number | undefined,
): Promise<void> {
  const { workspaceId, planLimits } = request.caller
  const { requestsPerMinute: limit, maxPixels } = planLimits
  const megapixels = Math.min(limit, Math.max(1, Math.ceil((pixels ?? maxPixels) / 1_000_000)))
  const verdict = await limiter.take(`workspace:${workspaceId}:megapixels`, limit, megapixels)
  noteLimit(verdict, reply)
  if (verdict.allowed) return
  const message = `Your plan allows images of ${limit} megapixels a minute, each counted up; try again later.`
  throw rateLimitExceeded(verdict, reply, { limitName: 'megapixels', message })
}

/** 20 s of CPU, a third of one core, and a gallery of 160 new results of 12 megapixels. */
export const previewMegapixelsPerMinute = 2_000

/** Counts the pixels of a result that a preview is made of, in whole megapixels. @throws MatteError RATE_LIMIT_EXCEEDED */
export async function limitPreviews(limiter: RateLimiter, workspaceId: string, pixels: number): Promise<void> {
  const megapixels = Math.max(1, Math.ceil(pixels / 1_000_000))
  const verdict = await limiter.take(`workspace:${workspaceId}:previews`, previewMegapixelsPerMinute, megapixels)
  if (verdict.allowed) return
  const message =
    `Previews may be made of results of ${previewMegapixelsPerMinute} megapixels a minute; try again later, or ` +
    'download the result.'
  // Not set on a response: requests for the same preview share this error.
  throw rateError(verdict, { limitName: 'previews', message })
}

/** Counts a request before sign-in against its client's address. @throws MatteError RATE_LIMIT_EXCEEDED */
export async function limitAddress(
  limiter: RateLimiter,
  perMinute: number,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<void> {
  const verdict = await limiter.take(`open:${clientNetwork(request.ip)}`, perMinute)
  if (verdict.allowed) return
  const message = `This operation allows ${perMinute} requests a minute from one address; try again later.`
  throw rateLimitExceeded(verdict, reply, { limitName: 'address', message })
}

type Refused = {
  readonly limitName: 'requests' | 'megapixels' | 'person' | 'credentials' | 'address' | 'exports' | 'previews'
  readonly message: string
}

/** Sets `Retry-After` from the window, which may be cached. */
export function rateLimitExceeded(verdict: RateVerdict, reply: FastifyReply, refused: Refused): MatteError {
  reply.header('retry-after', verdict.resetsInSeconds)
  return rateError(verdict, refused)
}

function rateError({ limit, resetsAt, resetsInSeconds }: RateVerdict, { limitName, message }: Refused): MatteError {
  return new MatteError('RATE_LIMIT_EXCEEDED', message, {
    details: { limit: limitName, perMinute: limit, resetsAt: new Date(resetsAt * 1_000).toISOString() },
    retryAfterSeconds: resetsInSeconds,
  })
}
