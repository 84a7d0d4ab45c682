// Callers of the rembg door, which knows no keys: clients in the configured networks act for one workspace.
import { BlockList, isIP } from 'node:net'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import type { FastifyRequest } from 'fastify'
import { shortCache } from './short-cache.ts'

type Workspace = { readonly workspaceId: string; readonly plan: string }

/** The workspace that the client acts for. @throws MatteError AUTH_FORBIDDEN */
export type NetworkCallers = (request: Pick<FastifyRequest, 'ip' | 'headers'>) => Promise<Workspace>

type Settings = {
  readonly networks: readonly string[]
  readonly workspaceId: string
  readonly trustedProxyHops: number
  /** Origins of web pages that may call; `*` means any. */
  readonly origins: readonly string[]
  /** Accepted names in a Host header, in lower case; addresses and `localhost` are always accepted. */
  readonly hosts: readonly string[]
}

export function networkCallers(db: Db, { networks, workspaceId, ...settings }: Settings): NetworkCallers {
  const isAllowed = addressesIn(networks)
  const cache = shortCache<Workspace>()
  const read = async (): Promise<Workspace | undefined> => {
    const workspace = await findWorkspace(db, workspaceId)
    return workspace && { workspaceId, plan: workspace.plan }
  }
  return async ({ ip, headers }) => {
    refuseHidden(headers['x-forwarded-for'], settings.trustedProxyHops)
    refusePages(headers, settings.origins)
    refuseForeignNames(headers.host, settings.hosts)
    if (!isAllowed(ip)) {
      throw new MatteError('AUTH_FORBIDDEN', 'Your address is not in the networks that may use this path.')
    }
    const workspace = await cache.find(workspaceId, read)
    if (workspace === undefined) throw new Error(`DOORS_REMBG_WORKSPACE: there is no workspace ${workspaceId}`)
    return workspace
  }
}

/** Behind a proxy that is not counted, every client would have the address of the proxy, which may be in a network. */
function refuseHidden(forwardedFor: string | string[] | undefined, trustedProxyHops: number): void {
  const hops = [forwardedFor ?? []].flat().join(',').split(',')
  if (forwardedFor === undefined || hops.length <= trustedProxyHops) return
  throw new MatteError(
    'AUTH_FORBIDDEN',
    `X-Forwarded-For names ${hops.length} addresses, but TRUSTED_PROXY_HOPS is ${trustedProxyHops}, so the client is unknown.`,
  )
}

/**
 * A browser in a network would send what any web page asks for. It names the page's origin, except for a GET without
 * CORS, such as an image or a link; with HTTPS it then says whether the page is of this origin (`Sec-Fetch-Site`).
 */
function refusePages(headers: FastifyRequest['headers'], origins: readonly string[]): void {
  const { origin, 'sec-fetch-site': site = 'none' } = headers
  if (origins.includes('*')) return
  if (origin === undefined ? site === 'none' || site === 'same-origin' : origins.includes(origin)) return
  const page = origin === undefined ? 'other sites' : 'this origin'
  throw new MatteError('AUTH_FORBIDDEN', `Web pages of ${page} may not use this path; see CORS_ALLOWED_ORIGINS.`)
}

/**
 * A web page whose own name suddenly leads to this address counts as one of this origin (DNS rebinding), so only names
 * that no stranger can point here are accepted. Addresses and `localhost` are not looked up.
 */
function refuseForeignNames(host: string | undefined, hosts: readonly string[]): void {
  const name = URL.parse(`http://${host}`)?.hostname ?? ''
  if (name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) !== 0 || hosts.includes(name)) return
  throw new MatteError(
    'AUTH_FORBIDDEN',
    'Call this path by the host of PUBLIC_URL, by an address, or by a name in DOORS_REMBG_HOSTS.',
  )
}

/** An IPv4 network also matches its addresses in IPv4-mapped IPv6 form. */
export function addressesIn(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return (text) => {
    const address = text.split('%')[0] ?? ''
    return list.check(address, familyOf(address))
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4')
