// Operations of the App API from the service's own OpenAPI document, and requests whose responses are checked against
// it.
import { buildDocument } from '@matte/generate/build-document'
import { expect } from 'vitest'

export type Operation = {
  readonly method: string
  readonly path: string
  readonly operationId: string
  readonly 'x-access'?: 'self' | 'open' | 'provider'
  readonly 'x-required-roles'?: readonly string[]
  readonly requestBody?: { content: Record<string, { example?: Record<string, unknown> }> }
  readonly responses: Record<string, { description: string }>
}

export async function readOperations(): Promise<readonly Operation[]> {
  const { paths } = (await buildDocument()) as { paths: Record<string, Record<string, Operation>> }
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/v1/app/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    )
}

/** Request body from the operation's reference example. @throws Error without one */
export function bodyOf({ operationId, requestBody }: Operation): Record<string, unknown> | undefined {
  const content = requestBody?.content['application/json']
  if (content !== undefined && content.example === undefined)
    throw new Error(`the body of ${operationId} has no example`)
  return content?.example
}

/** An unreadable body: a caller without access must be rejected before the body is read (D4). */
export const malformedBodyOf = (operation: Operation): string | undefined =>
  operation.requestBody === undefined ? undefined : '{malformed'

/** Error codes that the document declares for a status of the operation. */
const documented = ({ responses }: Operation, status: number): readonly string[] =>
  responses[status]?.description.split(', ') ?? []

type Sent = { readonly url: string; readonly token: string | undefined; readonly body: unknown }

/** Sends the request; the document must declare status and code of the response. */
export async function send(operation: Operation, { url, token, body }: Sent) {
  const ending = new AbortController()
  const response = await fetch(url, {
    method: operation.method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: ending.signal,
  })
  const { status, headers } = response
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
  // An event stream never ends: its start is the response.
  const text = isStream ? '' : await response.text()
  if (isStream) ending.abort()
  const error = status >= 400 ? (JSON.parse(text) as { error: { code: string; details: object } }).error : undefined
  expect({ status, documented: Object.hasOwn(operation.responses, status) }).toEqual({ status, documented: true })
  if (error !== undefined) expect(documented(operation, status)).toContain(error.code)
  return { status, code: error?.code, details: error?.details, headers, text }
}
