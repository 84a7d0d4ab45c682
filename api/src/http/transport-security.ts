// Strict-Transport-Security (RFC 6797): a browser that has seen it calls this host by HTTPS alone, even if a link or a
// user says http. Without an HTTPS origin it is not sent, because browsers would ignore it.
import type { FastifyInstance } from 'fastify'

type TransportSettings = {
  readonly publicUrl: string
  readonly hstsMaxAgeSeconds: number
}

/** The header by its name, or nothing. */
export const transportSecurity = ({ publicUrl, hstsMaxAgeSeconds }: TransportSettings): Record<string, string> =>
  publicUrl.startsWith('https:') ? { 'strict-transport-security': `max-age=${hstsMaxAgeSeconds}` } : {}

/** Responses without hooks, to what the router or Node's parser refuses, set it themselves. */
export function secureTransport(app: FastifyInstance, headers: Readonly<Record<string, string>>): void {
  if (Object.keys(headers).length === 0) return
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
}
