// Which connections an attempt goes out on.
//
// There are two pools. `strict` knows no exceptions. `open` is for targets that only the operator's `allowedTargets`
// let through (D67): the list is asked on every attempt before that pool is used, so taking an entry away works at
// once, kept connections included; and no answer that came through it is kept. The operator's proxy is for public
// addresses in both: what has others is his own, and dialled directly.
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isDialable } from '@matte/core/webhook/target/address'
import { type Resolve, resolveName } from '@matte/core/webhook/target/resolve-name'
import { hostOf } from '@matte/core/webhook/target/target-host'
import { isAllowedTarget, parseTarget, refusePublicTarget } from '@matte/core/webhook/target/target-url'
import { Agent, type Dispatcher } from 'undici'
import type { EgressProxy } from '../settings/egress-proxy.ts'
import { AttemptFailure } from './attempt-failure.ts'
import type { Dial } from './dial.ts'
import { guardedConnector } from './guarded-connector.ts'

export type RouteOptions = {
  readonly deniedNetworks: readonly string[]
  /** Total time of an attempt: DNS, connection, TLS, request, answer and body. */
  readonly timeoutMs: number
  /** Undefined: receivers are dialled directly. */
  readonly proxy?: EgressProxy | undefined
  /** What tests replace at the outermost edge: the DNS, the dialling, and whom TLS trusts. */
  readonly resolve?: Resolve
  readonly dial?: Dial
  readonly ca?: string
}

type Route = { readonly url: URL; readonly agent: Dispatcher; readonly keepBody: boolean }

type ReceiverRoutes = {
  /** @throws AttemptFailure when nothing may be sent there */
  routeTo(target: string, allowedTargets: readonly string[]): Promise<Route>
  close(): Promise<void>
}

/** DNS has its own bound within the total, so that a dead name server is distinguished from a dead receiver. */
const dnsTimeoutMs = 5_000
const headersMaxBytes = 16_384

export function receiverRoutes(options: RouteOptions): ReceiverRoutes {
  const { deniedNetworks, timeoutMs, proxy, resolve = resolveName, dial, ca } = options

  const isPublicAddress = (address: string): boolean => isDialable(address, deniedNetworks)
  const judged = async (host: string): Promise<readonly string[]> => {
    const addresses = isIP(host) === 0 ? await resolved(resolve, host) : [host]
    if (addresses.every(isPublicAddress)) return addresses
    throw new AttemptFailure('TARGET_REFUSED', new Error(`${host} is ${addresses.slice(0, 8).join(' ')}`))
  }
  const proxied = proxy && { proxy, takes: isPublicAddress }
  const common = { connectTimeoutMs: timeoutMs, dial, ca, proxied }
  const strict = agentWith({ ...common, addressesOf: judged, isPeerAllowed: isPublicAddress })
  const open = agentWith({ ...common, addressesOf: systemAddresses, isPeerAllowed: () => true })

  async function routeTo(text: string, allowedTargets: readonly string[]): Promise<Route> {
    const target = parseTarget(text)
    if ('refusal' in target) throw new AttemptFailure('TARGET_REFUSED', new Error(target.refusal))
    const { url } = target
    const refusal = refusePublicTarget(url, deniedNetworks)
    if (isAllowedTarget(url, allowedTargets)) {
      const isPublic =
        refusal === undefined &&
        (await judged(hostOf(url)).then(
          () => true,
          () => false,
        ))
      if (!isPublic) return { url, agent: open, keepBody: false }
    } else if (refusal !== undefined) {
      throw new AttemptFailure('TARGET_REFUSED', new Error(refusal))
    }
    return { url, agent: strict, keepBody: true }
  }

  return {
    routeTo,
    close: async () => {
      await Promise.all([strict.destroy(), open.destroy()])
    },
  }
}

const agentWith = (connector: Parameters<typeof guardedConnector>[0]) =>
  new Agent({
    connect: guardedConnector(connector),
    allowH2: false,
    maxHeaderSize: headersMaxBytes,
    // The attempt's deadline covers these phases; the parser's own timers would only be coarser.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than what common servers wait (5 s and more), so that we close an idle connection before they do.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
  })

async function resolved(resolve: Resolve, host: string): Promise<readonly string[]> {
  try {
    return await resolve(host, dnsTimeoutMs)
  } catch (error) {
    throw new AttemptFailure('DNS_FAILED', error)
  }
}

/** The operator's own targets: hosts file and search domains count, since such names are often not in the DNS. */
async function systemAddresses(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (error) {
    throw new AttemptFailure('DNS_FAILED', error)
  }
}
