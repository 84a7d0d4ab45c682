// The servers and credentials in NATS_URL. The client takes credentials beside its servers and ignores those in a URL.
import type { NodeConnectionOptions } from '@nats-io/transport-node'

type NatsServers = Required<Pick<NodeConnectionOptions, 'servers'>> &
  Pick<NodeConnectionOptions, 'user' | 'pass' | 'token' | 'tls'>

/**
 * `nats://` or `tls://` URLs joined by commas. `user:password@` or `token@` in the first one that has any counts for
 * all, since the servers of a cluster share their accounts; what a URL cannot contain is percent-encoded.
 * @throws Error that says what is wrong and shows no part of the value
 */
export function readNatsUrls(text: string): NatsServers {
  const urls = text.split(',').map((part) => toUrl(part.trim()))
  const owner = urls.find(({ username }) => username !== '')
  const different = urls.some(({ username, password }) => {
    const anonymous = username === ''
    return !anonymous && (username !== owner?.username || password !== owner.password)
  })
  if (different) throw new Error('must have the same credentials in each URL that has any')
  // One connection has one answer to whether it is encrypted, and no password goes over one that is not by mistake.
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

/** A `%` that encodes nothing stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The value itself, for a setting. @throws Error as `readNatsUrls` */
export function checkNatsUrls(text: string): string {
  readNatsUrls(text)
  return text
}
