// Chooses the connection pool of an attempt. `strict` has no exceptions. `open` is for targets that only the operator's
// `allowedTargets` admits (D67): the list is checked on every attempt, so removing an entry takes effect at once, and
// answers through this pool are not stored. Both use the operator's proxy for public addresses only; private ones are
// dialled directly.
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isDialable } from '@matte/core/webhook/target/address'
import { type Resolve, resolveName } from '@matte/core/webhook/target/resolve-name'
import { hostOf, isAllowedTarget, parseTarget, refusePublicTarget } from '@matte/core/webhook/target/target-url'
import { Agent, type Dispatcher } from 'undici'
import type { EgressProxy } from '../settings/egress-proxy.ts'
import { AttemptFailure } from './attempt-failure.ts'
import type { Dial } from './connect-by-proxy.ts'
import { guardedConnector } from './guarded-connector.ts'

export type RouteOptions = {
  readonly deniedNetworks: readonly string[]
  /** Total time of an attempt, from DNS to body. */
  readonly timeoutMs: number
  /** Undefined: receivers are dialled directly. */
  readonly proxy?: EgressProxy | undefined
  /** Replaced in tests: DNS, dialling, trusted authorities. */
  readonly resolve?: Resolve
  readonly dial?: Dial
  readonly ca?: string
}

type Route = { readonly url: URL; readonly agent: Dispatcher; readonly keepAnswer: boolean }

type ReceiverRoutes = {
  /** @throws AttemptFailure if the target is forbidden */
  routeTo(target: string, allowedTargets: readonly string[]): Promise<Route>
  close(): Promise<void>
}

/** A separate timeout distinguishes a dead name server from a dead receiver. */
const dnsTimeoutMs = 5_000
const headersMaxBytes = 16_384

export function receiverRoutes(options: RouteOptions): ReceiverRoutes {
  const { deniedNetworks, timeoutMs, proxy, resolve = resolveName, dial, ca } = options

  const isPublicAddress = (address: string): boolean => isDialable(address, deniedNetworks)
  const checkedAddresses = async (host: string): Promise<readonly string[]> => {
    const addresses = isIP(host) === 0 ? await resolved(resolve, host) : [host]
    if (addresses.every(isPublicAddress)) return addresses
    // As if the name did not exist: the record must not tell which names the operator's name server knows.
    throw new AttemptFailure('DNS_FAILED', new Error(`${host} is ${addresses.slice(0, 8).join(' ')}`))
  }
  const proxied = proxy && { proxy, takes: isPublicAddress }
  const common = { connectTimeoutMs: timeoutMs, dial, ca, proxied }
  const strict = agentWith({ ...common, addressesOf: checkedAddresses, isPeerAllowed: isPublicAddress })
  const open = agentWith({ ...common, addressesOf: systemAddresses, isPeerAllowed: () => true })

  async function routeTo(text: string, allowedTargets: readonly string[]): Promise<Route> {
    const target = parseTarget(text)
    if ('refusal' in target) throw new AttemptFailure('TARGET_REFUSED', new Error(target.refusal))
    const { url } = target
    const refusal = refusePublicTarget(url, deniedNetworks)
    if (isAllowedTarget(url, allowedTargets)) {
      const isPublic =
        refusal === undefined &&
        (await checkedAddresses(hostOf(url)).then(
          () => true,
          () => false,
        ))
      if (!isPublic) return { url, agent: open, keepAnswer: false }
    } else if (refusal !== undefined) {
      throw new AttemptFailure('TARGET_REFUSED', new Error(refusal))
    }
    return { url, agent: strict, keepAnswer: true }
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
    // The attempt's deadline covers these phases.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than the 5 s of common servers, so this side closes idle connections first.
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

/** The operator's targets also resolve by the hosts file and search domains. */
async function systemAddresses(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (error) {
    throw new AttemptFailure('DNS_FAILED', error)
  }
}
