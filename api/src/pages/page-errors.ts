// Errors of pages: the form again with the reason beside its field, or a page with one sentence. Counting, logging and
// status are those of the API's errors.
import type { ErrorCode } from '@matte/core/error'
import type { Issue } from '@matte/core/invalid-params'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerErrorsBy, type PublicError } from '../errors/answer-error.ts'
import type { Problem } from './form.ts'
import { html } from './html.ts'
import { type Page, paragraph, sendPage } from './page.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The form that was sent, to be shown again; null before it is known, and of a page without one. */
    formAgain: ((problem: Problem) => Page) | null
  }
}

export const answerErrorsAsPages = (count: (code: ErrorCode) => void) => answerErrorsBy(count, sendError)

function sendError(error: PublicError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // A form of something that is not there cannot be sent a second time either.
  const again = error.code === 'NOT_FOUND' ? undefined : request.formAgain?.(problemOf(error))
  return sendPage(reply, again ? { ...again, hasProblem: true } : errorPage(error))
}

function problemOf({ code, message, details }: PublicError): Problem {
  if (code !== 'INVALID_PARAMS') return { message, fields: {} }
  const issues = (details.issues ?? []) as readonly Issue[]
  const fields = Object.fromEntries(issues.map((issue) => [issue.path.replace('/body/', ''), issue.message]))
  return { message: 'The form could not be sent as it is. Change what is marked, and send it again.', fields }
}

const titles: Partial<Record<ErrorCode, string>> = {
  AUTH_FORBIDDEN: 'This was refused',
  NOT_FOUND: 'There is no such page',
  RATE_LIMIT_EXCEEDED: 'Too many requests',
}

const errorPage = ({ code, message }: PublicError): Page => ({
  title: titles[code] ?? 'That did not work',
  content: code === 'INVALID_PARAMS' ? paragraph('The request is not a form of this page.') : html`<p>${message}</p>`,
})
