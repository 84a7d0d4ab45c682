// The one place where an error becomes an HTTP answer. A MatteError is sent as it is; errors of the framework
// (validation, JSON, content type, size) become INVALID_PARAMS (D3); anything else is logged and answered with a fixed
// text.
import { isDatabaseUnavailable } from '@matte/core/db/database'
import { DatabaseBusy } from '@matte/core/db/fail-fast-pool'
import { type ErrorCode, MatteError } from '@matte/core/error'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { surfaceOf } from '../access.ts'
import type { ErrorAnswer } from '../envelope.ts'
import { httpStatus } from './http-status.ts'
import { toIssues } from './issues.ts'
import { publicCode } from './public-code.ts'

/** Seconds for `Retry-After` (D6): maintenance lasts, a store or a database is often back in seconds. */
const retryAfterSeconds = { maintenance: 60, outage: 5, limit: 1, max: 3_600 } as const

export type PublicError = Pick<MatteError, 'message' | 'details' | 'cause' | 'retryAfterSeconds'> & {
  readonly code: ErrorCode
}

export function toErrorAnswer(
  requestId: string,
  { code, message, details }: Pick<PublicError, 'code' | 'message' | 'details'>,
): ErrorAnswer {
  return { request_id: requestId, error: { code, message, details } }
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** Fastify's error handler: counts and logs once, sets status and `Retry-After`, and answers in the envelope. */
export const answerErrors = (count: (code: ErrorCode) => void): ErrorHandler =>
  answerErrorsBy(count, (known, request, reply) => reply.send(toErrorAnswer(request.id, known)))

type SendError = (error: PublicError, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** The same with an answer of another form. */
export const answerErrorsBy =
  (count: (code: ErrorCode) => void, send: SendError): ErrorHandler =>
  (error, request, reply) => {
    const known = toPublic(toMatteError(error), request)
    count(known.code)
    const status = httpStatus[known.code]
    // The router's error repeats the address with its query, which may hold a token (D91).
    const err = codeOf(error) === 'FST_ERR_BAD_URL' ? undefined : error
    if (status >= 500) request.log.error({ err, code: known.code }, 'request failed')
    else request.log.debug({ err, code: known.code }, 'request refused')
    const retryAfter = retryAfterOf(known)
    // The rate limiter has set it already.
    if (retryAfter !== undefined && !reply.hasHeader('retry-after')) reply.header('retry-after', retryAfter)
    reply.header('x-request-id', request.id) // no hook has run where the router gave up
    return send(known, request, reply.code(status))
  }

/** With the code that this surface of the interface has for it. */
function toPublic({ code, message, details, cause, retryAfterSeconds: seconds }: MatteError, request: FastifyRequest) {
  const surface = surfaceOf(request.routeOptions?.config ?? {}) // no route where the router gave up
  return { code: publicCode(code, surface), message, details, cause, retryAfterSeconds: seconds }
}

/** Any error as one of ours; what was not foreseen keeps its words to itself, as the cause. */
export function toMatteError(error: unknown): MatteError {
  if (error instanceof MatteError) return error
  if (error instanceof DatabaseBusy) return capacityExceeded(error)
  // A path with a broken escape, which the router could not even look up.
  if (codeOf(error) === 'FST_ERR_BAD_URL')
    return new MatteError('NOT_FOUND', 'There is nothing here.', { cause: error })
  if (isFrameworkError(error)) return fromFramework(error)
  return new MatteError('SYSTEM_INTERNAL_ERROR', 'The service failed on this request; trying again may help.', {
    cause: error,
  })
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

const isFrameworkError = (error: unknown): error is FastifyError =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' && error.statusCode < 500

/**
 * Which part of the request an error of the framework is about, in our own words: the framework's change with its
 * versions.
 */
const frameworkIssues: Readonly<Record<string, Issue>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { path: '/headers/content-type', message: 'must be application/json' },
  FST_ERR_CTP_BODY_TOO_LARGE: { path: '/body', message: 'must be at most 1 MiB' },
  FST_ERR_CTP_EMPTY_JSON_BODY: { path: '/body', message: 'must be a JSON object and is empty' },
  FST_ERR_CTP_INVALID_JSON_BODY: { path: '/body', message: 'must be valid JSON' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: { path: '/headers/content-length', message: 'must be the length of the body' },
}

function fromFramework(error: FastifyError): MatteError {
  const issues: readonly Issue[] = error.validation
    ? toIssues(error.validation, error.validationContext)
    : [frameworkIssues[error.code] ?? { path: '', message: 'the request could not be read' }]
  return invalidParams(issues, { cause: error })
}

/**
 * Whole seconds, 1 to 3600, on every 429 and 503, when the database is away, and where the error has it (D6, D8, D42).
 */
function retryAfterOf({
  code,
  details,
  cause,
  retryAfterSeconds: seconds = retryAfterSeconds.limit,
}: PublicError): number | undefined {
  const { maintenance, outage, max } = retryAfterSeconds
  if (code === 'CONFLICT') return typeof details.retryAfter === 'number' ? details.retryAfter : undefined
  if (code === 'TASK_MAINTENANCE') return maintenance
  if (httpStatus[code] === 503) return outage
  if (code === 'SYSTEM_INTERNAL_ERROR') return isDatabaseUnavailable(cause) ? outage : undefined
  if (httpStatus[code] !== 429) return undefined
  return Math.min(max, Math.max(1, Math.ceil(seconds)))
}

/** @param cause what stood in the way, for the log */
export const capacityExceeded = (cause?: unknown): MatteError =>
  new MatteError('RATE_LIMIT_EXCEEDED', 'The service has more requests than it can take; try again soon.', {
    details: { limit: 'capacity' },
    cause,
  })
