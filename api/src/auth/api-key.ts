import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
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
 * Malformed keys cost no look-up; unknown, revoked and expired ones, and those used from a network that is not theirs,
 * take the same path (D5), so a thief does not learn that a key works elsewhere.
 * @throws MatteError API_KEY_MISSING, API_KEY_INVALID, RATE_LIMIT_EXCEEDED
 */
export async function authenticateKey(
  { callers, guard }: LookUpDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<KeyCaller> {
  const header = request.headers['x-api-key']
  if (header === undefined || header === '') {
    throw new MatteError('API_KEY_MISSING', 'Send your API key in the header X-API-Key.')
  }
  const hash = typeof header === 'string' && isWellFormedApiKey(header) ? hashApiKey(header) : undefined
  const caller = hash && (await findCaller({ callers, guard }, request, hash))
  if (caller === undefined || !caller.mayComeFrom(request.ip)) {
    await guard.noteFailure(request, reply)
    throw new MatteError(
      'API_KEY_INVALID',
      'This API key is not valid, or not from your address: check for typing errors, its expiry and its networks, ' +
        'or make a new one.',
    )
  }
  return caller
}

function findCaller({ callers, guard }: LookUpDeps, request: FastifyRequest, hash: Buffer) {
  const find = () => callers.find(hash)
  return callers.knows(hash) ? find() : guard.lookUp(request, find)
}

type KeyCaller = Omit<Caller, 'allowedNetworks'> & {
  /** `ip`: the client as the trusted proxies name it. */
  readonly mayComeFrom: (ip: string) => boolean
}

export type CallerCache = {
  find(hash: Buffer): Promise<KeyCaller | undefined>
  /** True if the key was valid at its last look-up, however long ago. */
  knows(hash: Buffer): boolean
}

export function callerCache(db: Db): CallerCache {
  const cache = shortCache<KeyCaller>()
  const read = async (hash: Buffer): Promise<KeyCaller | undefined> => {
    const found = await readCaller(db, hash)
    if (found === undefined) return undefined
    const { allowedNetworks, ...caller } = found
    return { ...caller, mayComeFrom: allowedNetworks.length === 0 ? anywhere : only(allowedNetworks) }
  }
  return {
    knows: (hash) => cache.knows(hash.toString('base64')),
    find: (hash) => cache.find(hash.toString('base64'), () => read(hash)),
  }
}

const anywhere = (): boolean => true

/** By family, because a `BlockList` counts IPv4 addresses to `::/0`. */
function only(networks: readonly string[]): (ip: string) => boolean {
  const isInIPv4 = addressesIn(networks.filter((network) => !network.includes(':')))
  const isInIPv6 = addressesIn(networks.filter((network) => network.includes(':')))
  return (ip) => {
    const address = callerAddress(ip)
    if (address === null) return false
    return address.includes(':') ? isInIPv6(address) : isInIPv4(address)
  }
}
