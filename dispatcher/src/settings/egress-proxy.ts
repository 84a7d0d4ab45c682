// WEBHOOK_EGRESS_PROXY; a part of config.ts.
import { parsed } from '@matte/core/runtime/env'

export type EgressProxy = {
  /** A name, an IPv4 address or an IPv6 address without brackets. */
  readonly host: string
  readonly port: number
  /** Value of Proxy-Authorization. */
  readonly authorization: string | undefined
}

export const egressProxy = parsed<EgressProxy | undefined>(
  'WEBHOOK_EGRESS_PROXY',
  {
    description:
      'HTTP proxy that webhooks go out through, such as http://user:password@proxy.internal:3128; without it ' +
      'receivers are dialled directly',
    default: undefined,
    secret: true,
  },
  parseEgressProxy,
)

/** Errors omit the value, which may contain a password. */
function parseEgressProxy(text: string): EgressProxy {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' || url.hostname === '' || url.port === '0')
    throw new Error('must begin with http:// and name a host, and a port other than 0')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new Error('must end after the port: a proxy has no path')
  }
  const login = readLogin(url)
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || 80),
    authorization: login === ':' ? undefined : `Basic ${Buffer.from(login).toString('base64')}`,
  }
}

function readLogin({ username, password }: URL): string {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  } catch {
    throw new Error('must percent-encode user and password: % as %25')
  }
}
