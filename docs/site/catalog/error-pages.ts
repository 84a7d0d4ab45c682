// A page per error code, and the list of all. Status, example and operations come from the API's own definitions.
import { httpStatus } from '@matte/api/errors/http-status'
import { errorExamples } from '@matte/api/schemas/error-examples'
import { type ErrorCode, errorCodes } from '@matte/core/error'
import { codeBlock } from '../markdown/code.ts'
import { type Resolve, renderInline } from '../markdown/render.ts'
import { type Page, urlOf } from '../page.ts'
import { bulletList, section, table } from '../parts.ts'
import type { ListedOperation } from '../reference/operations.ts'
import { errorGuide } from './error-guide.ts'

export const pathOfError = (code: string): string => `errors/${code}`

/** As the clients decide: rate limits and failures of the service, but not a monthly quota. */
const retryText = (code: ErrorCode): string => {
  if (code === 'DEVELOPER_API_QUOTA_EXCEEDED') return 'No: the quota is renewed next month.'
  if (code === 'CONFLICT') return 'Only with the header `Retry-After`.'
  if (code === 'SYSTEM_INTERNAL_ERROR') return 'Yes, with exponential backoff.'
  return [429, 503].includes(httpStatus[code]) ? 'Yes, after `Retry-After`.' : 'No: the same request fails again.'
}

export function buildErrorPages(operations: readonly ListedOperation[], resolve: Resolve): Page[] {
  return [buildIndex(resolve), ...errorCodes.map((code) => buildErrorPage(code, operations, resolve))]
}

function buildIndex(resolve: Resolve): Page {
  const rows = errorCodes.map((code) => [
    `<a href="${urlOf(pathOfError(code))}"><code>${code}</code></a>`,
    String(httpStatus[code]),
    renderInline(errorGuide[code].meaning, resolve),
  ])
  const html = `<h1>Error codes</h1>
<p>Every failed request is answered with an <code>error.code</code> of this list. The text of <code>message</code> may \
change, the code does not. The response header <code>Link</code> with <code>rel="help"</code> leads to the page of the \
code.</p>
${table(['code', 'status', 'meaning'], rows)}`
  return { path: 'errors', title: 'Error codes', label: 'All codes', group: 'Error codes', html, headings: [] }
}

function buildErrorPage(code: ErrorCode, operations: readonly ListedOperation[], resolve: Resolve): Page {
  const { meaning, remedies } = errorGuide[code]
  const status = httpStatus[code]
  const { message, details = {} } = errorExamples[code]
  const body = { request_id: '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10', error: { code, message, details } }
  const returning = operations.filter(({ codes }) => codes.includes(code))
  const own = { ...resolve, name: (name: string) => (name === code ? undefined : resolve.name(name)) }
  const facts = [
    ['status', `<span class="status">${status}</span>`],
    ['retry', renderInline(retryText(code), own)],
  ]
  const parts = [
    section('What to do', bulletList(remedies.map((remedy) => renderInline(remedy, own)))),
    section('Example', codeBlock(JSON.stringify(body, null, 2), 'json')),
    section('Operations', operationList(returning)),
  ]
  const html = `<h1 class="code-title"><code>${code}</code></h1>
<p class="lead">${renderInline(meaning, own)}</p>
<dl class="facts">${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>
${parts.map(({ html }) => html).join('\n')}`
  return { path: pathOfError(code), title: code, group: 'Error codes', html, headings: parts.map((one) => one.heading) }
}

function operationList(operations: readonly ListedOperation[]): string {
  if (operations.length === 0) return '<p>No operation lists this code; it can come before an operation is found.</p>'
  const rows = operations.map(({ url, summary, method, path }) => [
    `<a href="${url}">${summary}</a>`,
    `<span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code>`,
  ])
  return table(['operation', 'request'], rows)
}
