import { MatteError } from '@matte/core/error'
import { hashApiKey, isWellFormedApiKey } from '@matte/core/workspace/api-key'
import type { Caller } from '@matte/core/workspace/api-key-queries'
import type { CallerCache } from './caller-cache.ts'

/**
 * Who sent this `X-API-Key`.
 * @throws MatteError API_KEY_MISSING, API_KEY_INVALID. A bad form or checksum is refused before any look-up; keys
 *   unknown, revoked and expired take one path (D5).
 */
export async function authenticate(callers: CallerCache, header: string | string[] | undefined): Promise<Caller> {
  if (header === undefined || header === '') {
    throw new MatteError('API_KEY_MISSING', 'Send your API key in the header X-API-Key.')
  }
  const wellFormed = typeof header === 'string' && isWellFormedApiKey(header)
  const caller = wellFormed ? await callers.find(hashApiKey(header)) : undefined
  if (caller === undefined) {
    throw new MatteError('API_KEY_INVALID', 'This API key is not valid: check for typing errors, or make a new one.')
  }
  return caller
}
