// Forms are accepted from these pages alone, so that another site cannot make its visitors' browsers try passwords or
// register addresses here. Pages have no cookies: a form that gets through carries only what its author knew.
import { MatteError } from '@matte/core/error'
import type { FastifyRequest } from 'fastify'

/**
 * Browsers send `Sec-Fetch-Site` over HTTPS and to this machine. Over plain HTTP only `Origin` is left, which is `null`
 * because of these pages' own referrer policy, so `null` must pass there. Programs send neither.
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
