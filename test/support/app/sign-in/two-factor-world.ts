// Accounts with a second factor, and both steps of their logins.
import type { World } from '../../../api/given.ts'
import { createAppClient } from '../app-client.ts'
import { givenPerson } from '../people.ts'
import { givePassword, password } from './given-password.ts'
import { enableSecondFactor } from './second-factor.ts'

type Tokens = { readonly accessToken: string; readonly refreshToken: string }
type Login = Tokens & { readonly mfaRequired?: true; readonly mfaToken: string }

export const wrongCode = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/code' }] } }

export function twoFactorWorld(world: World) {
  const open = () => createAppClient(world.api.url)
  const person = async () => {
    const someone = await givenPerson(world.db, world.api)
    await givePassword(world.db, someone)
    return someone
  }
  const logIn = async (email: string) =>
    (await open().call<Login>('POST', '/auth/login', { body: { email, password } })).data
  return {
    open,
    person,
    protectedPerson: async () => {
      const someone = await person()
      return { ...someone, factor: await enableSecondFactor(world.db, someone.client) }
    },
    logIn,
    /** Sequential, because concurrent passwords for one account wait for each other. */
    logInTimes: async (email: string, count: number) => {
      const logins: Login[] = []
      while (logins.length < count) logins.push(await logIn(email))
      return logins
    },
    verify: (mfaToken: string, code: string) =>
      open().call<Tokens>('POST', '/auth/2fa/verify', { body: { mfaToken, code } }),
    /** Names of the workspace's audit events. */
    events: async (workspaceId: string) => {
      const due = world.db.selectFrom('notification_due').select('event').where('workspace_id', '=', workspaceId)
      return (await due.execute()).map(({ event }) => event)
    },
  }
}
