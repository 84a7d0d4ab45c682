import type { Nudge } from '@matte/core/bus/nudge'
import { verifyAddress } from '@matte/core/identity/account/verify-address'
import type { StartedSession } from '@matte/core/identity/session/start-session'
import type { FastifyRequest } from 'fastify'
import { clientOf } from '../own-password.ts'
import type { AuthDeps } from './auth-deps.ts'

type VerifyDeps = AuthDeps & { readonly nudge: Pick<Nudge, 'delivery'> }
type Click = { readonly token: string; readonly password?: string }

/** Verifies an address, for the operation and for its page. Undefined: the token does not work, or no longer. */
export async function verifyByRequest(
  deps: VerifyDeps,
  request: FastifyRequest,
  { token }: Click,
): Promise<StartedSession | undefined> {
  const session = await verifyAddress(deps, { token, client: clientOf(request) })
  if (session !== undefined) deps.nudge.delivery(session.userId)
  return session
}
