import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { LoginEventTable } from '../../db/tables/sign-in.ts'
import type { Role } from '../../workspace/role.ts'
import { generateRefreshToken } from './refresh-token.ts'
import { sessionColumns, sessionParts } from './session-parts.ts'
import type { SignInClient } from './sign-in-client.ts'

/** A session with its newest refresh token; `issueTokens` makes the answer of it. */
export type StartedSession = {
  readonly sessionId: string
  readonly userId: string
  readonly workspaceId: string
  readonly role: Role
  readonly refreshToken: string
}

type NewSession = {
  readonly userId: string
  /** How the person signed in, for the login history. */
  readonly method: LoginEventTable['method']
  /** Absent: the personal one. */
  readonly workspaceId?: string
  readonly client: SignInClient
}

/**
 * Begins a session of a person in one of that person's workspaces.
 * Undefined: not a member of it, disabled, or erased.
 */
export async function startSession(tx: Db, { userId, method, workspaceId, client }: NewSession) {
  const refreshToken = generateRefreshToken()
  const which = workspaceId === undefined ? sql`w.personal_of = u.id` : sql`w.id = ${workspaceId}`
  const { rows } = await sql<Omit<StartedSession, 'refreshToken'>>`
    with chosen as (
      select u.id as user_id, w.id as workspace_id, m.role
        from app_user u
        join membership m on m.user_id = u.id
        join workspace w on w.id = m.workspace_id
       where u.id = ${userId} and u.disabled_at is null and u.erased_at is null and ${which}
    ), ${sessionParts({ method, client, refreshToken })}
    select ${sessionColumns} from started s, chosen c`.execute(tx)
  const [row] = rows
  return row && ({ ...row, refreshToken } satisfies StartedSession)
}
