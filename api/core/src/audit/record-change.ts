import type { Db } from '../db/database.ts'

type Change = {
  readonly workspaceId: string | null
  readonly userId: string | null
  /** The operationId of the request, or the operator's command. */
  readonly action: string
  /** The id that the path or the answer names. */
  readonly target: string | null
  readonly ipAddress: string | null
  /** Null: no request, but an operator's command. */
  readonly requestId: string | null
  /** Why an operator did it. */
  readonly reason?: string
}

/**
 * Notes a change that a member made, or an operator to somebody (D74). Beside what the request or the operator says
 * nothing is kept: no body, no secret.
 */
export async function recordChange(db: Db, change: Change): Promise<void> {
  await db
    .insertInto('audit_entry')
    .values({
      workspace_id: change.workspaceId,
      user_id: change.userId,
      action: change.action,
      target: change.target,
      ip_address: change.ipAddress,
      request_id: change.requestId,
      details: change.reason === undefined ? undefined : JSON.stringify({ reason: change.reason }),
    })
    .execute()
}
