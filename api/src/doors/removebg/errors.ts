// Errors in the form of remove.bg: `{"errors": [{title, code, detail}]}`.
import { type ErrorCode, MatteError } from '@matte/core/error'
import type { FastifyReply } from 'fastify'
import { errorHandlerWith, type PublicError } from '../../errors/error-handler.ts'
import { httpStatus } from '../../errors/http-status.ts'
import { wordsOf } from '../words.ts'

type Shown = { readonly title: string; readonly code: string; readonly status?: number }

const badKey = { title: 'API Key invalid', code: 'auth_failed', status: 403 }
const tooMany = { title: 'Rate limit exceeded', code: 'rate_limit_exceeded', status: 429 }

const shown: Partial<Record<ErrorCode, Shown>> = {
  API_KEY_MISSING: { ...badKey, title: 'API Key missing' },
  API_KEY_INVALID: badKey,
  API_KEY_INSUFFICIENT_SCOPE: badKey,
  DEVELOPER_API_ACCESS_DENIED: { ...badKey, title: 'No API access' },
  CREDITS_INSUFFICIENT: { title: 'Insufficient credits', code: 'insufficient_credits', status: 402 },
  RATE_LIMIT_EXCEEDED: tooMany,
  DEVELOPER_API_QUOTA_EXCEEDED: tooMany,
  TASK_CONCURRENT_LIMIT: tooMany,
  TASK_FILE_SIZE_EXCEEDED: { title: 'Image too large', code: 'image_too_large' },
  TASK_FORMAT_NOT_SUPPORTED: { title: 'Unsupported image format', code: 'invalid_file_type' },
  TASK_OUTPUT_FORMAT_NOT_SUPPORTED: { title: 'Unsupported output format', code: 'not_supported' },
  TASK_MAINTENANCE: { title: 'Service unavailable', code: 'service_unavailable' },
  TASK_STORAGE_UNAVAILABLE: { title: 'Service unavailable', code: 'service_unavailable' },
  CONFLICT: { title: 'Not supported', code: 'not_supported', status: 400 },
  INVALID_PARAMS: { title: 'Invalid parameters', code: 'invalid_parameters' },
  NOT_FOUND: { title: 'Not found', code: 'not_found' },
}

export const removebgErrorHandler = (count: (code: ErrorCode) => void) =>
  errorHandlerWith(count, (error, _request, reply) => sendError(error, reply))

function sendError(error: PublicError, reply: FastifyReply): FastifyReply {
  const { code, details } = error
  const {
    title,
    code: name,
    status = httpStatus[code],
  } = shown[code] ?? { title: 'Server error', code: 'server_error' }
  if (code === 'TASK_CONCURRENT_LIMIT') reply.header('retry-after', 1)
  const own = details.shown as Shown | undefined
  const detail = wordsOf(error)
  return reply.code(status).send({ errors: [{ title: own?.title ?? title, code: own?.code ?? name, detail }] })
}

/** A refusal with a code of this protocol. */
export const refusal = (code: string, title: string, detail: string): MatteError =>
  new MatteError('INVALID_PARAMS', detail, { details: { shown: { code, title } } })

export const invalid = (name: string, rule: string): MatteError =>
  refusal('invalid_parameters', `Invalid value for ${name}`, `${name} ${rule}.`)
