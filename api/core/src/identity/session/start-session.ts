import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { LoginEventTable } from '../../db/tables/sign-in.ts'
import type { Role } from '../../workspace/role.ts'
import { generateRefreshToken, hashRefreshToken } from './refresh-token.ts'

/** Where a request comes from, as the session and the login history show it. */
export type SignInClient = { readonly ipAddress: string | null; readonly userAgent: string | null }

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

/** As it is kept: what a client sends has no bound of its own. */
export const cutUserAgent = ({ userAgent }: SignInClient): string | null => userAgent?.slice(0, 512) ?? null

/** Days that a family lasts, however often it is refreshed (D14). */
const familyDays = 30

type FirstOf = { readonly method: NewSession['method']; readonly client: SignInClient; readonly refreshToken: string }

/**
 * Parts of a statement `with chosen as (…)`, of one row of `user_id`, `workspace_id` and `role`: they begin the session,
 * with its first refresh token and its row of the login history. Its columns are those of `sessionColumns`.
 */
export function sessionParts({ method, client, refreshToken }: FirstOf): RawBuilder<unknown> {
  const userAgent = cutUserAgent(client)
  return sql`started as (
      insert into session (user_id, workspace_id, ip_address, user_agent, expires_at)
      select user_id, workspace_id, ${client.ipAddress}::inet, ${userAgent},
             now() + ${familyDays} * interval '1 day'
        from chosen
      returning id, user_id, workspace_id
    ), first_token as (
      insert into refresh_token (hash, session_id) select ${hashRefreshToken(refreshToken)}::bytea, id from started
    ), event as (
      insert into login_event (user_id, success, method, ip_address, user_agent)
      select user_id, true, ${method}, ${client.ipAddress}::inet, ${userAgent} from started
    )`
}

/** Of `started s` and `chosen c`. */
export const sessionColumns = sql`s.id as "sessionId", s.user_id as "userId", s.workspace_id as "workspaceId", c.role`

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
