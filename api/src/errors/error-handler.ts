// Maps errors to HTTP responses. A MatteError is sent as it is; errors of the framework become INVALID_PARAMS; any
// other error is logged and answered with a fixed text.
import { isDatabaseUnavailable, isStatementTimeout } from '@matte/core/db/database-errors'
import { DatabaseBusy } from '@matte/core/db/fail-fast-pool'
import { type ErrorCode, MatteError } from '@matte/core/error'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { surfaceOf } from '../access.ts'
import type { ErrorResponse } from '../envelope.ts'
import { errorPageOf } from '../site/docs-routes.ts'
import { httpStatus, publicCode } from './http-status.ts'
import { toIssues } from './issues.ts'

const retryAfterSeconds = { maintenance: 60, outage: 5, limit: 1, max: 3_600 } as const

export type PublicError = Pick<MatteError, 'message' | 'details' | 'cause' | 'retryAfterSeconds'> & {
  readonly code: ErrorCode
}

export function toErrorResponse(
  requestId: string,
  { code, message, details }: Pick<PublicError, 'code' | 'message' | 'details'>,
): ErrorResponse {
  return { request_id: requestId, error: { code, message, details } }
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** Fastify's error handler: counts, logs, sets status and `Retry-After`, and responds in the envelope. */
export const createErrorHandler = (count: (code: ErrorCode) => void): ErrorHandler =>
  errorHandlerWith(count, (known, request, reply) => reply.send(toErrorResponse(request.id, known)))

type SendError = (error: PublicError, request: FastifyRequest, reply: FastifyReply) => FastifyReply

export const errorHandlerWith =
  (count: (code: ErrorCode) => void, send: SendError): ErrorHandler =>
  (error, request, reply) => {
    const known = toPublic(toMatteError(error), request)
    count(known.code)
    const status = httpStatus[known.code]
    // The router's error contains the URL with its query, which may hold a token.
    const err = codeOf(error) === 'FST_ERR_BAD_URL' ? undefined : error
    if (status >= 500) request.log.error({ err, code: known.code }, 'request failed')
    else request.log.debug({ err, code: known.code }, 'request refused')
    const retryAfter = retryAfterOf(known)
    if (retryAfter !== undefined && !reply.hasHeader('retry-after')) reply.header('retry-after', retryAfter)
    reply.header('x-request-id', request.id) // hooks do not run after a router error
    reply.header('link', `<${errorPageOf(known.code)}>; rel="help"`)
    return send(known, request, reply.code(status))
  }

function toPublic({ code, message, details, cause, retryAfterSeconds: seconds }: MatteError, request: FastifyRequest) {
  const surface = surfaceOf(request.routeOptions?.config ?? {}) // undefined after a router error
  return { code: publicCode(code, surface), message, details, cause, retryAfterSeconds: seconds }
}

/** Hides the text of an unexpected error from the caller; it becomes the cause. */
export function toMatteError(error: unknown): MatteError {
  if (error instanceof MatteError) return error
  if (error instanceof DatabaseBusy) return capacityExceeded(error)
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

/** Own texts, because those of the framework change with its versions. */
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

/** Whole seconds, 1 to 3600: on 429, 503, an unavailable database, and errors that carry it. */
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
  if (code === 'SYSTEM_INTERNAL_ERROR')
    return isDatabaseUnavailable(cause) || isStatementTimeout(cause) ? outage : undefined
  if (httpStatus[code] !== 429) return undefined
  return Math.min(max, Math.max(1, Math.ceil(seconds)))
}

export const capacityExceeded = (cause?: unknown): MatteError =>
  new MatteError('RATE_LIMIT_EXCEEDED', 'The service is at capacity; try again soon.', {
    details: { limit: 'capacity' },
    cause,
  })
