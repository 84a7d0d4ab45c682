import type { Db } from '../db/database.ts'

type Change = {
  readonly workspaceId: string | null
  readonly userId: string | null
  /** The operationId of the request. */
  readonly action: string
  /** The id that the path or the answer names. */
  readonly target: string | null
  readonly ipAddress: string | null
  readonly requestId: string
}

/** Notes a change that a member made (D74). Beside what the request says nothing is kept: no body, no secret. */
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
    })
    .execute()
}
