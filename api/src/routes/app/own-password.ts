import { type ConfirmationDeps, confirmPassword } from '@matte/core/identity/password/confirm-password'
import type { SignInClient } from '@matte/core/identity/session/sign-in-client'
import type { FastifyRequest } from 'fastify'
import { clientAddress } from '../../client-address.ts'
import { clientNetwork } from '../../limit/client-network.ts'

export const clientOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): SignInClient => ({
  ipAddress: clientAddress(ip),
  userAgent: headers['user-agent'] ?? null,
})

type Signed = Pick<FastifyRequest, 'member' | 'ip' | 'makeRoom'>

/**
 * Somebody who is signed in proves it again, with `password` of the body.
 * @throws MatteError INVALID_PARAMS, RATE_LIMIT_EXCEEDED
 */
export async function confirmOwnPassword(deps: ConfirmationDeps, request: Signed, password: string): Promise<void> {
  // It waits for a password to be hashed, in a queue with a bound of its own.
  request.makeRoom()
  const { userId } = request.member
  const network = clientNetwork(request.ip)
  await confirmPassword(deps, { userId, password, network, path: '/body/password' })
}
