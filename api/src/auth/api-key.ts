import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { hashApiKey, isWellFormedApiKey } from '@matte/core/workspace/api-key'
import { type Caller, findCaller as readCaller } from '@matte/core/workspace/caller-queries'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CredentialGuard } from '../limit/credential-guard.ts'
import type { KeyUsage } from './key-usage.ts'
import { shortCache } from './short-cache.ts'

export type KeyDeps = {
  readonly callers: CallerCache
  readonly guard: CredentialGuard
  readonly usage: Pick<KeyUsage, 'note'>
}

type LookUpDeps = Pick<KeyDeps, 'callers' | 'guard'>

/**
 * Malformed keys cost no look-up; unknown, revoked and expired ones take the same path (D5).
 * @throws MatteError API_KEY_MISSING, API_KEY_INVALID, RATE_LIMIT_EXCEEDED
 */
export async function authenticateKey(
  { callers, guard }: LookUpDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller> {
  const header = request.headers['x-api-key']
  if (header === undefined || header === '') {
    throw new MatteError('API_KEY_MISSING', 'Send your API key in the header X-API-Key.')
  }
  const hash = typeof header === 'string' && isWellFormedApiKey(header) ? hashApiKey(header) : undefined
  const caller = hash && (await findCaller({ callers, guard }, request, hash))
  if (caller === undefined) {
    await guard.noteFailure(request, reply)
    throw new MatteError('API_KEY_INVALID', 'This API key is not valid: check for typing errors, or make a new one.')
  }
  return caller
}

function findCaller({ callers, guard }: LookUpDeps, request: FastifyRequest, hash: Buffer) {
  const find = (): Promise<Caller | undefined> => callers.find(hash)
  return callers.knows(hash) ? find() : guard.lookUp(request, find)
}

export type CallerCache = {
  find(hash: Buffer): Promise<Caller | undefined>
  /** True if the key was valid at its last look-up, however long ago. */
  knows(hash: Buffer): boolean
}

export function callerCache(db: Db): CallerCache {
  const cache = shortCache<Caller>()
  return {
    knows: (hash) => cache.knows(hash.toString('base64')),
    find: (hash) => cache.find(hash.toString('base64'), () => readCaller(db, hash)),
  }
}
