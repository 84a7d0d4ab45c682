import type { Db } from '../../db/database.ts'
import type { LoginEventTable } from '../../db/tables/sign-in.ts'
import type { SignInClient } from '../session/start-session.ts'

type LoginOutcome = {
  /** Null: no account has the address. */
  readonly userId: string | null
  readonly method: LoginEventTable['method']
  /** Null: it succeeded. */
  readonly failureReason: string | null
  readonly client: SignInClient
}

/** A row of somebody's login history; its id. */
export async function insertLoginEvent(tx: Db, outcome: LoginOutcome): Promise<string> {
  const { userId, method, failureReason, client } = outcome
  const { id } = await tx
    .insertInto('login_event')
    .values({
      user_id: userId,
      success: failureReason === null,
      method,
      ip_address: client.ipAddress,
      user_agent: client.userAgent?.slice(0, 512) ?? null,
      failure_reason: failureReason,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}
