import { isAddress } from '@matte/core/address'
import { listDuplicates, takeAddress } from '@matte/people/identity/account/address-keys'
import {
  disableUser,
  enableUser,
  findUserByEmail,
  inviteToRegister,
  resetTwoFactor,
} from '@matte/people/identity/account/operator-actions'
import { countSessions, endSessions } from '@matte/people/identity/session/session-queries'
import { type Command, CommandError, UsageError } from './command.ts'
import { required, requiredUuid } from './options.ts'

const find: Command = {
  name: 'user find',
  usage: '--email ADDRESS',
  summary: 'show the account of an address',
  run: async ({ db, sessionIdleHours }, given) => {
    const email = required(given, 'email')
    const user = await findUserByEmail(db, email)
    if (user === undefined) throw new CommandError(`there is no account of ${email}`)
    return {
      userId: user.id,
      email: user.email,
      name: user.name,
      personalWorkspaceId: user.workspaceId,
      createdAt: user.created_at.toISOString(),
      verifiedAt: user.email_verified_at?.toISOString() ?? null,
      disabledAt: user.disabled_at?.toISOString() ?? null,
      sessions: (await countSessions(db, { userId: user.id, sessionIdleHours })).total,
    }
  },
}

const setDisabled = (verb: 'disable' | 'enable', set: typeof disableUser, summary: string): Command => ({
  name: `user ${verb}`,
  usage: '--user ID',
  summary,
  changes: true,
  run: async ({ change }, given) => {
    const userId = requiredUuid(given, 'user')
    await change({ userId, target: userId }, async (tx) => {
      if (!(await set(tx, userId))) throw new CommandError(`there is no account ${userId}`)
    })
    return { userId, disabled: verb === 'disable' }
  },
})
const disable = setDisabled(
  'disable',
  disableUser,
  'disable an account: ends all sessions and suspends the API keys of the user within 5 s',
)
const enable = setDisabled('enable', enableUser, 'enable an account again; its API keys work again')

const resetFactor: Command = {
  name: 'user reset-two-factor',
  usage: '--user ID --reason TEXT',
  summary:
    'disable two-factor login after the loss of a device, and end all sessions within 5 s; the user gets a ' +
    'mail, and the audit log of the personal workspace records the reason',
  changes: true,
  run: async ({ change }, given) => {
    const userId = requiredUuid(given, 'user')
    required(given, 'reason')
    const endedSessions = await change({ userId, target: userId }, async (tx) => {
      const ended = await resetTwoFactor(tx, userId)
      if (ended === undefined) throw new CommandError(`there is no account ${userId} with two-factor login`)
      return ended
    })
    return { userId, twoFactor: false, endedSessions }
  },
}

const invite: Command = {
  name: 'user invite',
  usage: '--email ADDRESS',
  summary: 'allow an address to register when AUTH_REGISTRATION is invite; sends no mail',
  changes: true,
  run: async ({ change }, given) => {
    const email = required(given, 'email')
    if (!isAddress(email)) throw new UsageError('--email must be an address')
    // Without the address, which erasure could not find in the entry.
    await change({}, (tx) => inviteToRegister(tx, email))
    return { email, invited: true }
  },
}

const duplicatesAtOnce = 1_000

const duplicates: Command = {
  name: 'user duplicates',
  usage: '',
  summary: 'list accounts that cannot log in because another account has the same address, and that account',
  run: async ({ db }) => {
    const users = await listDuplicates(db, duplicatesAtOnce)
    return {
      duplicates: users.map((user) => ({
        userId: user.id,
        email: user.email,
        createdAt: user.created_at.toISOString(),
        verifiedAt: user.email_verified_at?.toISOString() ?? null,
        loginsOpen: user.heldBy,
      })),
    }
  },
}

const take: Command = {
  name: 'user take-address',
  usage: '--user ID',
  summary: 'let a duplicate account log in with its address, instead of the account that has the address now',
  changes: true,
  run: async ({ change }, given) => {
    const userId = requiredUuid(given, 'user')
    const takenFrom = await change({ userId, target: userId }, async (tx) => {
      const taken = await takeAddress(tx, userId)
      if (taken === undefined) throw new CommandError(`there is no account ${userId}`)
      return taken
    })
    return { userId, takenFrom }
  },
}

const end: Command = {
  name: 'sessions end',
  usage: '--user ID',
  summary: 'end all sessions of a user; every replica refuses the tokens within 5 s',
  changes: true,
  run: async ({ change }, given) => {
    const userId = requiredUuid(given, 'user')
    const endedSessions = await change({ userId, target: userId }, (tx) => endSessions(tx, userId))
    return { userId, endedSessions }
  },
}

export const userCommands: readonly Command[] = [find, disable, enable, resetFactor, invite, duplicates, take, end]
