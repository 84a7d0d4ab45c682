import type { Db } from '../../db/database.ts'
import type { LoginEventTable } from '../../db/tables/sign-in.ts'
import { cutUserAgent, type SignInClient } from '../session/sign-in-client.ts'

type FailedLogin = {
  /** Null: no account has the address. */
  readonly userId: string | null
  readonly method: LoginEventTable['method']
  readonly failureReason: string
  readonly client: SignInClient
}

/** A row of somebody's login history, and its id; `startSession` writes that of a login that succeeded. */
export async function insertFailedLogin(tx: Db, failed: FailedLogin): Promise<string> {
  const { userId, method, failureReason, client } = failed
  const { id } = await tx
    .insertInto('login_event')
    .values({
      user_id: userId,
      success: false,
      method,
      ip_address: client.ipAddress,
      user_agent: cutUserAgent(client),
      failure_reason: failureReason,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}
