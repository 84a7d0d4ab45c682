// Checks the target URL of a webhook after the WHATWG parser has normalised it. Creation uses `checkTargetUrl`.
// Delivery applies the same rules, looks the name up, and checks the addresses on connect.
import { isIP } from 'node:net'
import { isDialable } from './address.ts'

export type TargetPolicy = {
  /** The operator's exceptions, `host:port` or `host:*`. */
  readonly allowedTargets: readonly string[]
  /** CIDRs that are never dialled, in addition to the special-purpose ones. */
  readonly deniedNetworks: readonly string[]
}

/** A usable URL, or a refusal for the caller. */
type TargetVerdict = { readonly url: URL } | { readonly refusal: string }

/** Many receivers and proxies reject longer URLs. */
const urlLengthMax = 2_048

const notPublic = 'must have a public internet address as its host'

/** Ports of mail, shells, databases and cluster services. */
const deniedPorts: ReadonlySet<number> = new Set([
  22, 23, 25, 53, 111, 135, 139, 445, 2375, 2376, 2377, 2378, 2379, 2380, 3306, 5432, 6379, 6443, 9200, 10250, 11211,
  27017,
])

/**
 * Checks a target before it is stored. Names are not looked up: the answer would tell which names the operator's name
 * server knows. Delivery looks them up and checks the addresses.
 */
export function checkTargetUrl(text: string, policy: TargetPolicy): TargetVerdict {
  const target = parseTarget(text)
  if ('refusal' in target || isAllowedTarget(target.url, policy.allowedTargets)) return target
  const refusal = refusePublicTarget(target.url, policy.deniedNetworks)
  return refusal === undefined ? target : { refusal }
}

/** Checks that no setting waives: http or https, no credentials, bounded length. */
export function parseTarget(text: string): TargetVerdict {
  if (text.length > urlLengthMax) return { refusal: `must be at most ${urlLengthMax} characters long` }
  const url = URL.parse(text)
  if (url === null) return { refusal: 'must be an absolute URL, such as https://example.com/hook' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { refusal: 'must begin with http:// or https://' }
  if (url.username !== '' || url.password !== '') return { refusal: 'must not carry a user name or password' }
  return { url }
}

/** Refusal by host name, port or literal address, without a resolver; undefined if there is none. */
export function refusePublicTarget(url: URL, deniedNetworks: readonly string[]): string | undefined {
  if (deniedPorts.has(portOf(url))) return `must not use port ${portOf(url)}`
  const host = hostOf(url)
  if (/(^|\.)localhost\.?$/.test(host)) return notPublic
  return isIP(host) === 0 || isDialable(host, deniedNetworks) ? undefined : notPublic
}

/** Whether the operator allows this target. `host:port` opens any port; `host:*` leaves the denied ports closed. */
export function isAllowedTarget(url: URL, allowedTargets: readonly string[]): boolean {
  const port = portOf(url)
  return allowedTargets.some((entry) => {
    const allowed = entry.toLowerCase()
    return allowed === `${url.hostname}:${port}` || (allowed === `${url.hostname}:*` && !deniedPorts.has(port))
  })
}

/** The host as resolvers and sockets take it: IPv6 without brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

export const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)

/**
 * Normalises an entry of `webhooks.allowedTargets`, `host:port` or `host:*`: lower case, IPv6 in brackets.
 * Undefined: invalid.
 */
export function parseAllowedTarget(entry: string): string | undefined {
  const [, host = '', port = ''] = /^(\[[0-9a-fA-F:.]+\]|[^\s:*/?#@[\]]+):(\*|\d{1,5})$/.exec(entry) ?? []
  if (port !== '*' && !(Number(port) >= 1 && Number(port) <= 65_535)) return undefined
  // The URL parser normalises the host as it does for targets.
  const url = URL.parse(`http://${host}/`)
  return url === null || url.hostname === '' ? undefined : `${url.hostname}:${port === '*' ? port : Number(port)}`
}
