import { askForAccount } from '@matte/core/identity/account/account-requests'
import { registrationSalt } from '@matte/core/identity/account/registration-salt'
import { checkNewPassword } from '@matte/core/identity/password/new-password'
import { turnOfAddress } from '@matte/core/identity/password/password-turn'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { clientAddress } from '../../../client-address.ts'
import type { registerRequest } from '../../../schemas/app/auth.ts'
import { passwordClientOf } from '../own-password.ts'
import type { AuthDeps } from './auth-deps.ts'

type RegisterDeps = Pick<AuthDeps, 'db' | 'masterKeys' | 'hasher' | 'accountRequests'>

/** Asks for an account; nothing tells whether the address has one. @throws MatteError INVALID_PARAMS: the password */
export async function registerByRequest(
  { db, masterKeys, hasher, accountRequests }: RegisterDeps,
  request: FastifyRequest,
  { email, password, name, referralCode }: Static<typeof registerRequest>,
): Promise<void> {
  checkNewPassword(password, '/body/password', [email, name])
  request.makeRoom()
  const turn = turnOfAddress(passwordClientOf(request), email)
  const passwordHash = await hasher.hash(turn, password, registrationSalt(masterKeys, email))
  await askForAccount(db, {
    ...{ email, passwordHash },
    name: name || null,
    referralCode: referralCode || null,
    ipAddress: clientAddress(request.ip),
  })
  accountRequests.wake()
}
