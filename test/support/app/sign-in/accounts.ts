// Accounts created through the API: registered, verified by mail, signed in.
import { randomBytes } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import type { TestApi } from '../../api.ts'
import { type AppClient, createAppClient } from '../app-client.ts'
import { tokensTo } from './inbox.ts'

type Tokens = {
  readonly accessToken: string
  readonly refreshToken: string
  readonly tokenType: string
  readonly expiresIn: number
}
export type SignedIn = Tokens & { readonly user: { readonly id: string; readonly email: string } }

export type Account = {
  readonly email: string
  readonly password: string
  readonly userId: string
  readonly tokens: SignedIn
  /** Client with the access token from the verification. */
  readonly client: AppClient
}

export const newEmail = (): string => `p-${randomBytes(6).toString('hex')}@example.com`
export const newPassword = (): string => `Pw ${randomBytes(12).toString('base64url')}`

type World = { readonly db: Db; readonly api: TestApi }

export async function givenAccount(world: World, { password = newPassword() } = {}): Promise<Account> {
  const email = newEmail()
  const open = createAppClient(world.api.url)
  await open.call('POST', '/auth/register', { body: { email, password } })
  const [token] = await tokensTo(world, email, { template: 'verify-email' })
  const { data: tokens } = await open.call<SignedIn>('POST', '/auth/verify-email', { body: { token, password } })
  const client = createAppClient(world.api.url, tokens.accessToken)
  return { email, password, userId: tokens.user.id, tokens, client }
}
