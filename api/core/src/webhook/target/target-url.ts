// Whether a URL may be the target of a webhook (D66, D67). The text is judged after the WHATWG parser has turned
// every spelling of an address (decimal, hexadecimal, full-width, percent) into one. Creation uses `checkTargetUrl`;
// at delivery the same rules are asked again, and the addresses are judged once more when connecting.
import { isIP } from 'node:net'
import { isDialable } from './address.ts'
import { type Resolve, resolveName } from './resolve-name.ts'
import { hostOf, portOf } from './target-host.ts'

export type TargetPolicy = {
  /** The operator's exceptions, `host:port` or `host:*`, from the stored settings. */
  readonly allowedTargets: readonly string[]
  /** CIDRs that are never dialled, beside the special blocks. */
  readonly deniedNetworks: readonly string[]
}

/** A usable URL, or a refusal in words for the caller that say nothing of the resolver. */
type TargetVerdict = { readonly url: URL } | { readonly refusal: string }

/** Longer ones are refused by too many receivers and proxies to be of use. */
const urlLengthMax = 2_048
/** A name that does not resolve in this time is accepted; delivery decides. */
const resolveTimeoutMs = 1_000

const notPublic = 'must have a public internet address as its host'

/** Ports of mail, shells, databases and cluster services: nothing there wants a webhook. */
const deniedPorts: ReadonlySet<number> = new Set([
  22, 23, 25, 53, 111, 135, 139, 445, 2375, 2376, 2377, 2378, 2379, 2380, 3306, 5432, 6379, 6443, 9200, 10250, 11211,
  27017,
])

/**
 * Judges a target before it is stored. A name is resolved, and refused if any answer is not public.
 * Never throws for a bad URL, and takes 1 s at most.
 */
export async function checkTargetUrl(
  text: string,
  policy: TargetPolicy,
  resolve: Resolve = resolveName,
): Promise<TargetVerdict> {
  const target = parseTarget(text)
  if ('refusal' in target || isAllowedTarget(target.url, policy.allowedTargets)) return target
  const refusal = refusePublicTarget(target.url, policy.deniedNetworks)
  if (refusal !== undefined) return { refusal }
  const host = hostOf(target.url)
  if (isIP(host) !== 0) return target
  const addresses = await resolve(host, resolveTimeoutMs).catch(() => [])
  const isPublic = addresses.every((address) => isDialable(address, policy.deniedNetworks))
  return isPublic ? target : { refusal: notPublic }
}

/** What no setting can waive: http or https, no user or password, a bounded length. */
export function parseTarget(text: string): TargetVerdict {
  if (text.length > urlLengthMax) return { refusal: `must be at most ${urlLengthMax} characters long` }
  const url = URL.parse(text)
  if (url === null) return { refusal: 'must be an absolute URL, such as https://example.com/hook' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { refusal: 'must begin with http:// or https://' }
  if (url.username !== '' || url.password !== '') return { refusal: 'must not carry a user name or password' }
  return { url }
}

/** The refusal that needs no resolver, or undefined: host name, port, and a host that is an address. */
export function refusePublicTarget(url: URL, deniedNetworks: readonly string[]): string | undefined {
  if (deniedPorts.has(portOf(url))) return `must not use port ${portOf(url)}`
  const host = hostOf(url)
  if (/(^|\.)localhost\.?$/.test(host)) return notPublic
  return isIP(host) === 0 || isDialable(host, deniedNetworks) ? undefined : notPublic
}

/**
 * True when the operator allows this target whatever its address. An exact `host:port` opens any port; `host:*`
 * leaves the denied ports closed, since nobody has named them.
 */
export function isAllowedTarget(url: URL, allowedTargets: readonly string[]): boolean {
  const port = portOf(url)
  return allowedTargets.some((entry) => {
    const allowed = entry.toLowerCase()
    return allowed === `${url.hostname}:${port}` || (allowed === `${url.hostname}:*` && !deniedPorts.has(port))
  })
}
