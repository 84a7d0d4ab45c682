// Errors in the form of rembg's server: FastAPI's `{"detail": …}`, and plain text for failures of the server.
import { type ErrorCode, MatteError } from '@matte/core/error'
import type { FastifyReply } from 'fastify'
import { errorHandlerWith, type PublicError } from '../../errors/error-handler.ts'
import { httpStatus } from '../../errors/http-status.ts'
import { wordsOf } from '../words.ts'
import type { FieldError } from './fields.ts'

/** Statuses that differ from those of the Developer API. */
const statuses: Partial<Record<ErrorCode, number>> = {
  CREDITS_INSUFFICIENT: 402,
  TASK_CONCURRENT_LIMIT: 429,
  CONFLICT: 400,
}

export const rembgErrorHandler = (count: (code: ErrorCode) => void) =>
  errorHandlerWith(count, (error, _request, reply) => sendError(error, reply))

function sendError(error: PublicError, reply: FastifyReply): FastifyReply {
  const { code, details } = error
  const status = statuses[code] ?? httpStatus[code]
  if (code === 'TASK_CONCURRENT_LIMIT') reply.header('retry-after', 1)
  if (isFieldErrors(details.fields)) return reply.code(422).send({ detail: details.fields })
  if (status === 500) return reply.code(500).type('text/plain; charset=utf-8').send('Internal Server Error')
  return reply.code(status).send({ detail: wordsOf(error) })
}

const isFieldErrors = (value: unknown): value is readonly FieldError[] => Array.isArray(value)

export const invalidFields = (fields: readonly FieldError[]): MatteError =>
  new MatteError('INVALID_PARAMS', 'The request has invalid fields.', { details: { fields } })
