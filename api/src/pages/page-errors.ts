// Errors of pages: the form again with the reason beside its field, or a page with one sentence.
import { type ErrorCode, MatteError } from '@matte/core/error'
import type { Issue } from '@matte/core/invalid-params'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorHandlerWith, type PublicError } from '../errors/error-handler.ts'
import type { Problem } from './form.ts'
import { type Page, paragraph, sendPage } from './page.ts'
import type { PageTexts } from './texts/english-pages.ts'
import { textsFor } from './texts/page-texts.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Renders the submitted form again; null before it is known and on pages without a form. */
    formAgain: ((problem: Problem) => Page) | null
  }
}

export const pageErrorHandler = (count: (code: ErrorCode) => void) => errorHandlerWith(count, sendError)

function sendError(error: PublicError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const texts = textsFor(request)
  const again = error.code === 'NOT_FOUND' ? undefined : request.formAgain?.(problemOf(texts, error))
  return sendPage(reply, again ? { ...again, hasProblem: true } : errorPage(texts, error))
}

function problemOf(texts: PageTexts, { code, message, details }: PublicError): Problem {
  if (code !== 'INVALID_PARAMS') return { message: texts.error(code, message), fields: {} }
  const issues = (details.issues ?? []) as readonly Issue[]
  const fields = Object.fromEntries(
    issues.map((issue) => [issue.path.replace('/body/', ''), texts.issue(issue.message)]),
  )
  return { message: texts.correctFields, fields }
}

const errorPage = (texts: PageTexts, { code, message }: PublicError): Page => ({
  title: texts.errorTitles[code] ?? texts.errorTitle,
  content: paragraph(code === 'INVALID_PARAMS' ? texts.notAForm : texts.error(code, message)),
})

/**
 * Over HTTP browsers send only `Origin`, which is `null` under this referrer policy.
 * @throws MatteError AUTH_FORBIDDEN
 */
export function requireSameSite({ method, headers }: FastifyRequest, publicUrl: string): void {
  if (method === 'GET' || method === 'HEAD') return
  const site = headers['sec-fetch-site']
  const origin = headers.origin ?? 'null'
  const isOwn = origin === 'null' || origin === publicUrl || URL.parse(origin)?.host === headers.host
  if (isOwn && (site === undefined || site === 'same-origin')) return
  throw new MatteError('AUTH_FORBIDDEN', 'This form was sent from another site. Open the link again and send it there.')
}
