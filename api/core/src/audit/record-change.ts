// Adds entries to the audit log (D74). An entry is a part of the transaction of its change: both are committed, or
// neither is.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { ActorKind } from '../db/tables/account.ts'

/** Where a change came from. */
export type ChangeOrigin = {
  readonly actor: ActorKind
  /** Signed-in user; null for other actors, and for keys, whose creator did not act. */
  readonly userId: string | null
  readonly apiKeyId: string | null
  readonly ipAddress: string | null
  readonly userAgent: string | null
  /** Chosen by this process, so it is unique. */
  readonly requestId: string | null
  /** X-Request-Id that the caller chose, if it did. */
  readonly clientRequestId: string | null
}

type Change = ChangeOrigin & {
  readonly workspaceId: string | null
  /** operationId of the request, or the command of matte-admin. */
  readonly action: string
  /** Id in the path or the response. */
  readonly target: string | null
  readonly reason: string | null
}

/** Adds the entry of the request or command to the transaction of its change. `target`: id of a new resource. */
export type Audit = (tx: Db, target?: string) => Promise<void>

const lengthMax = 512
/** Text from a header or a body: PostgreSQL refuses NUL, and halves of a character in JSON. */
const shortened = (text: string | null): string | null =>
  text?.replaceAll('\0', '').slice(0, lengthMax).toWellFormed() ?? null

/** Never pass bodies or secrets. @throws Error outside a transaction, where the change could be committed alone */
export async function recordChange(tx: Db, { reason, ...change }: Change): Promise<void> {
  if (!tx.isTransaction) throw new Error('an audit entry belongs in the transaction of its change')
  await tx
    .insertInto('audit_entry')
    .values({
      workspace_id: change.workspaceId,
      actor: change.actor,
      user_id: change.userId,
      api_key_id: change.apiKeyId,
      action: change.action,
      target: shortened(change.target),
      ip_address: change.ipAddress,
      user_agent: shortened(change.userAgent),
      request_id: change.requestId,
      client_request_id: change.clientRequestId,
      // Not the start of the transaction, so readers in the order of time miss no entry (audit-export.ts).
      at: sql<Date>`clock_timestamp()`,
      details: reason === null ? undefined : JSON.stringify({ reason: shortened(reason) }),
    })
    .execute()
}
