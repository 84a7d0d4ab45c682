import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { ErrorCode } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import { toErrorResponse } from '../errors/error-handler.ts'
import { errorPageOf } from '../site/docs-routes.ts'

/** Responds to requests that Node could not parse. They have no reply object, so this writes to the socket. */
export const clientErrorHandler =
  (count: (code: ErrorCode) => void, headers: Readonly<Record<string, string>>) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    count('INVALID_PARAMS')
    socket.end(answerTo(error, headers))
  }

function answerTo(error: { readonly code?: string }, headers: Readonly<Record<string, string>>): string {
  const id = randomUUID()
  const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const large = error.code === 'HPE_HEADER_OVERFLOW'
  const words = late ? 'the request did not arrive in time' : large ? 'must be at most 16 KiB' : 'is not valid HTTP'
  const body = JSON.stringify(
    toErrorResponse(id, { ...invalidParam(large ? '/headers' : '', words), code: 'INVALID_PARAMS' }),
  )
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    `Link: <${errorPageOf('INVALID_PARAMS')}>; rel="help"`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
