import { type ConfirmationDeps, confirmPassword } from '@matte/core/identity/password/confirm-password'
import type { PasswordClient } from '@matte/core/identity/password/password-turn'
import type { SignInClient } from '@matte/core/identity/session/sign-in-client'
import type { FastifyRequest } from 'fastify'
import { clientAddress } from '../../client-address.ts'
import { clientNetwork, wideNetwork } from '../../limit/client-network.ts'

export const clientOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): SignInClient => ({
  ipAddress: clientAddress(ip),
  userAgent: headers['user-agent'] ?? null,
})

export const passwordClientOf = ({ ip }: Pick<FastifyRequest, 'ip'>): PasswordClient => ({
  network: wideNetwork(ip),
  client: clientNetwork(ip),
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
  await confirmPassword(deps, { userId, password, from: passwordClientOf(request), path: '/body/password' })
}
