// Entries of matte-admin in the audit log (D74). The actor is any holder of the database's URL. The user agent names
// the account of the operating system and the host, for example a pod of the API.
import { randomUUID } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import { type Audit, recordChange } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { findPersonalWorkspace } from '@matte/people/identity/account/own-workspaces'
import type { Changed, CommandDeps } from './command.ts'

type Run = { readonly command: string; readonly reason: string | null }

export function commandChanges(db: Db, { command: action, reason }: Run): Pick<CommandDeps, 'change' | 'auditOf'> {
  const requestId = randomUUID()
  const userAgent = `matte-admin (${accountName()}@${hostname()})`
  const nobody = { userId: null, apiKeyId: null, ipAddress: null, clientRequestId: null }
  const auditOf =
    ({ workspaceId = null, userId, target = null }: Changed): Audit =>
    async (tx, made) =>
      recordChange(tx, {
        ...{ ...nobody, actor: 'matte-admin', userAgent, requestId, action, reason },
        workspaceId: userId === undefined ? workspaceId : ((await findPersonalWorkspace(tx, userId))?.id ?? null),
        target: target ?? made ?? null,
      })
  return {
    auditOf,
    change: (of, run) =>
      inTransaction(db, async (tx) => {
        const result = await run(tx)
        await auditOf(typeof of === 'function' ? of(result) : of)(tx)
        return result
      }),
  }
}

/** A container may run with a number that no account has. */
function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
