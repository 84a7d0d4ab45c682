import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import { hashApiKey, isWellFormedApiKey } from '@matte/core/workspace/api-key'
import { type Caller, findCaller as readCaller } from '@matte/core/workspace/caller-queries'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerAddress } from '../limit/client-network.ts'
import type { CredentialGuard } from '../limit/credential-guard.ts'
import type { KeyUsage } from './key-usage.ts'
import { addressesIn } from './network-caller.ts'
import { shortCache } from './short-cache.ts'

export type KeyDeps = {
  readonly callers: CallerCache
  readonly guard: CredentialGuard
  readonly usage: Pick<KeyUsage, 'note'>
}

type LookUpDeps = Pick<KeyDeps, 'callers' | 'guard'>

/**
 * Malformed keys cost no look-up. Unknown, revoked and expired ones, and those used from a foreign network, take the
 * same path (D5): a thief does not learn that a key works elsewhere.
 * @throws MatteError API_KEY_MISSING, API_KEY_INVALID, RATE_LIMIT_EXCEEDED
 */
export async function authenticateKey(
  { callers, guard }: LookUpDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<KeyCaller> {
  const header = request.headers['x-api-key'] || bearerOf(request)
  if (header === undefined || header === '') {
    throw new MatteError('API_KEY_MISSING', 'Send your API key in the header X-API-Key.')
  }
  const hash = typeof header === 'string' && isWellFormedApiKey(header) ? hashApiKey(header) : undefined
  const caller = hash && (await findCaller({ callers, guard }, request, hash))
  if (caller === undefined) {
    await guard.noteFailure(request, reply)
    throw new MatteError(
      'API_KEY_INVALID',
      'This API key is not valid, or not from your address: check for typing errors, its expiry and its networks, ' +
        'or make a new one.',
    )
  }
  return caller
}

/** The successor of remove.bg's API takes keys this way, so clients of the door may too. */
function bearerOf({ headers, routeOptions }: FastifyRequest): string | undefined {
  if (routeOptions.config.door !== true) return undefined
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

function findCaller({ callers, guard }: LookUpDeps, request: FastifyRequest, hash: Buffer) {
  const { ip } = request
  const find = () => callers.find(hash, ip)
  return callers.knows(hash, ip) ? find() : guard.lookUp(request, find)
}

type KeyCaller = Omit<Caller, 'allowedNetworks'>

export type CallerCache = {
  /** Undefined for a key that does not work from this address, as the trusted proxies name it. */
  find(hash: Buffer, ip: string): Promise<KeyCaller | undefined>
  /** True if the key was valid at its last look-up, however long ago, and may be used from this address. */
  knows(hash: Buffer, ip: string): boolean
}

type Admits = (ip: string) => boolean

export function callerCache(db: Db): CallerCache {
  const cache = shortCache<{ readonly caller: KeyCaller; readonly admits: Admits }>()
  /** Hints about keys with networks, which never change. The check is that of the key as found. */
  const hints = new BoundedMap<string, Admits>(hintsMax)
  const isForeign = (name: string, ip: string): boolean => hints.get(name)?.(ip) === false
  const read = async (hash: Buffer, name: string) => {
    const found = await readCaller(db, hash)
    if (found === undefined) return undefined
    const { allowedNetworks, ...caller } = found
    if (allowedNetworks.length === 0) return { caller, admits: anywhere }
    const admits = membersOf(allowedNetworks)
    hints.set(name, admits)
    return { caller, admits }
  }
  return {
    knows: (hash, ip) => cache.knows(nameOf(hash)) && !isForeign(nameOf(hash), ip),
    find: async (hash, ip) => {
      const name = nameOf(hash)
      const readNow = () => read(hash, name)
      // From a foreign address a known key costs a query each time, as an unknown one does.
      const found = await (isForeign(name, ip) ? readNow() : cache.find(name, readNow))
      return found?.admits(ip) ? found.caller : undefined
    },
  }
}

const hintsMax = 10_000

const anywhere: Admits = () => true

const nameOf = (hash: Buffer): string => hash.toString('base64')

/** By family, because a `BlockList` counts IPv4 addresses to `::/0`. */
function membersOf(networks: readonly string[]): Admits {
  const isInIPv4 = addressesIn(networks.filter((network) => !network.includes(':')))
  const isInIPv6 = addressesIn(networks.filter((network) => network.includes(':')))
  return (ip) => {
    const address = callerAddress(ip)
    if (address === null) return false
    return address.includes(':') ? isInIPv6(address) : isInIPv4(address)
  }
}
