// Parses NATS_URL. The client takes credentials separately and ignores those in a URL.
import type { NodeConnectionOptions } from '@nats-io/transport-node'

type NatsServers = Required<Pick<NodeConnectionOptions, 'servers'>> &
  Pick<NodeConnectionOptions, 'user' | 'pass' | 'token' | 'tls'>

/**
 * Parses `nats://` or `tls://` URLs, joined by commas. The first `user:password@` or `token@` applies to all, because
 * servers of a cluster share accounts; special characters are percent-encoded.
 * @throws Error without any part of the value
 */
export function readNatsUrls(text: string): NatsServers {
  const urls = text.split(',').map((part) => toUrl(part.trim()))
  const owner = urls.find(({ username }) => username !== '')
  const different = urls.some(({ username, password }) => {
    const anonymous = username === ''
    return !anonymous && (username !== owner?.username || password !== owner.password)
  })
  if (different) throw new Error('must have the same credentials in each URL that has any')
  // Mixed schemes could send the password unencrypted.
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1) throw new Error('must be nats:// or tls:// throughout')
  return {
    servers: urls.map(({ host }) => host),
    ...(urls[0]?.protocol === 'tls:' && { tls: {} }),
    ...(owner !== undefined && credentialsOf(owner)),
  }
}

function toUrl(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`)
  if (
    url === null ||
    !/^(nats|tls):$/.test(url.protocol) ||
    url.host === '' ||
    !/^\/?$/.test(url.pathname) ||
    (url.username === '' && url.password !== '')
  ) {
    throw new Error('must be nats:// or tls:// URLs joined by commas, such as nats://user:password@host:4222')
  }
  return url
}

function credentialsOf({ username, password }: URL): Partial<NatsServers> {
  const [user, pass] = [username, password].map(decode) as [string, string]
  return pass === '' ? { token: user } : { user, pass }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function checkNatsUrls(text: string): string {
  readNatsUrls(text)
  return text
}
