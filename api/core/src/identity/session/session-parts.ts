import { type RawBuilder, sql } from 'kysely'
import type { LoginEventTable } from '../../db/tables/sign-in.ts'
import { hashRefreshToken } from './refresh-token.ts'
import { cutUserAgent, type SignInClient } from './sign-in-client.ts'

/** Days that a family lasts, however often it is refreshed (D14). */
const familyDays = 30

type Beginning = {
  readonly method: LoginEventTable['method']
  readonly client: SignInClient
  readonly refreshToken: string
}

/**
 * Parts of a statement `with chosen as (…)`, of one row of `user_id`, `workspace_id` and `role`: they begin the
 * session, with its first refresh token and its row of the login history.
 */
export function sessionParts({ method, client, refreshToken }: Beginning): RawBuilder<unknown> {
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

/** `StartedSession` without its token, of `started s` and `chosen c`. */
export const sessionColumns = sql`s.id as "sessionId", s.user_id as "userId", s.workspace_id as "workspaceId", c.role`
