import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import { until } from '../../support/until.ts'
import type { Console } from './console.ts'

/** The header with the access token that the page sent last. */
export function watchToken(page: Page): () => string {
  let last = ''
  page.on('request', (request) => {
    last = request.headers().authorization ?? last
  })
  return () => last
}

type Ended = {
  readonly userId: string
  readonly token: string
  /** The person revoked the sessions, or did not use them for 30 days. */
  readonly ending: 'revoked' | 'expired'
}

/** Ends the sessions of a person. The API may accept the token for up to five seconds; waits for that. */
export async function endSessions({ stack: { db }, url }: Console, { userId, token, ending }: Ended): Promise<void> {
  const now = sql<Date>`now()`
  await db
    .updateTable('session')
    .set(ending === 'revoked' ? { ended_at: now } : { expires_at: now })
    .where('user_id', '=', userId)
    .execute()
  const headers = { authorization: token }
  await until('the session has ended', async () => {
    const response = await fetch(`${url}/api/v1/app/credits/balance`, { headers })
    return response.status === 401
  })
}
