// A page per error code, and the list of all. Status, example and operations come from the API's own definitions.
import { httpStatus } from '@matte/api/errors/http-status'
import { errorExamples } from '@matte/api/schemas/error-examples'
import { type ErrorCode, errorCodes } from '@matte/core/error'
import { code as inline, join, json, table } from '../markdown.ts'
import type { Page } from '../page.ts'
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

export const buildErrorPages = (operations: readonly ListedOperation[]): Page[] => [
  buildIndex(),
  ...errorCodes.map((code) => buildErrorPage(code, operations)),
]

function buildIndex(): Page {
  const rows = errorCodes.map((code) => [inline(code), String(httpStatus[code]), errorGuide[code].meaning])
  const markdown = join(
    '# Error codes',
    'Every failed request is answered with an `error.code` of this list. The text of `message` may change, the code ' +
      'does not. The response header `Link` with `rel="help"` leads to the page of the code.',
    table(['code', 'status', 'meaning'], rows),
  )
  return { path: 'errors', title: 'Error codes', markdown }
}

function buildErrorPage(code: ErrorCode, operations: readonly ListedOperation[]): Page {
  const { meaning, remedies } = errorGuide[code]
  const { message, details = {} } = errorExamples[code]
  const body = { request_id: '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10', error: { code, message, details } }
  const markdown = join(
    `# ${inline(code)}`,
    meaning,
    table(['status', 'send it again?'], [[String(httpStatus[code]), retryText(code)]]),
    '## What to do',
    remedies.map((remedy) => `- ${remedy}`).join('\n'),
    '## Example',
    json(body),
    '## Operations',
    listReturning(operations.filter(({ codes }) => codes.includes(code))),
  )
  return { path: pathOfError(code), title: code, markdown }
}

const listReturning = (operations: readonly ListedOperation[]): string =>
  operations.length === 0
    ? 'No operation lists this code; it can come before an operation is found.'
    : table(
        ['operation', 'request'],
        operations.map(({ url, summary, method, path }) => [`[${summary}](${url})`, `${method} ${inline(path)}`]),
      )
