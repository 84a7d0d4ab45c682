import { MatteError } from '@matte/core/error'
import { hashApiKey, isWellFormedApiKey } from '@matte/core/workspace/api-key'
import type { Caller } from '@matte/core/workspace/caller-queries'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CredentialGuard } from '../limit/credential-guard.ts'
import type { CallerCache } from './caller-cache.ts'
import type { KeyUsage } from './key-usage.ts'

export type KeyDeps = {
  readonly callers: CallerCache
  readonly guard: CredentialGuard
  readonly usage: Pick<KeyUsage, 'note'>
}

type LookUpDeps = Pick<KeyDeps, 'callers' | 'guard'>

/**
 * Who sent this `X-API-Key`.
 * @throws MatteError API_KEY_MISSING, API_KEY_INVALID. A bad form or checksum is refused before any look-up; keys
 *   unknown, revoked and expired take one path (D5). RATE_LIMIT_EXCEEDED for one too many of them from one address.
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
