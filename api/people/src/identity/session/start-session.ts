import type { Db } from '@matte/core/db/database'
import type { LoginEventTable } from '@matte/core/db/tables/account'
import type { Role } from '@matte/core/workspace/role'
import { type RawBuilder, sql } from 'kysely'
import { makingRoom, sessionDays } from './open-sessions.ts'
import { generateRefreshToken, hashRefreshToken } from './refresh-token.ts'
import type { ProofMethod } from './session-proof.ts'

export type StartedSession = {
  readonly sessionId: string
  readonly userId: string
  readonly workspaceId: string
  readonly role: Role
  readonly refreshToken: string
}

type NewSession = {
  readonly userId: string
  readonly method: LoginEventTable['method']
  /** The personal workspace by default. */
  readonly workspaceId?: string
  readonly client: SignInClient
}

/**
 * Starts a session in one of the user's workspaces, and ends the one unused for longest if there are too many. The
 * caller has locked the person or their second factor. Undefined: not a member of the workspace, disabled, or erased.
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

type Beginning = {
  readonly method: LoginEventTable['method']
  readonly client: SignInClient
  readonly refreshToken: string
}

/**
 * CTEs after `with chosen (user_id, workspace_id, role)`: insert the session, its first token and its history row, and
 * make room for it.
 */
export function sessionParts({ method, client, refreshToken }: Beginning): RawBuilder<unknown> {
  const userAgent = cutUserAgent(client)
  return sql`${makingRoom}, started as (
      insert into session (user_id, workspace_id, ip_address, user_agent, expires_at, proof_method)
      select user_id, workspace_id, ${client.ipAddress}::inet, ${userAgent},
             now() + ${sessionDays} * interval '1 day', ${proofOf(method)}
        from chosen
      returning id, user_id, workspace_id
    ), first_token as (
      insert into refresh_token (hash, session_id) select ${hashRefreshToken(refreshToken)}::bytea, id from started
    ), event as (
      insert into login_event (user_id, success, method, ip_address, user_agent)
      select user_id, true, ${method}, ${client.ipAddress}::inet, ${userAgent} from started
    )`
}

/** The link of a mail needs the password of the registration (D92). */
const proofOf = (method: LoginEventTable['method']): ProofMethod => (method === 'verify_email' ? 'password' : method)

export const sessionColumns = sql`s.id as "sessionId", s.user_id as "userId", s.workspace_id as "workspaceId", c.role`

export type SignInClient = { readonly ipAddress: string | null; readonly userAgent: string | null }

export const cutUserAgent = ({ userAgent }: SignInClient): string | null => userAgent?.slice(0, 512) ?? null
