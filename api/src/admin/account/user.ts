import { isAddress } from '@matte/core/address'
import { listDuplicates, takeAddress } from '@matte/core/identity/account/duplicate-accounts'
import {
  disableUser,
  enableUser,
  findUserByEmail,
  inviteToRegister,
} from '@matte/core/identity/account/operator-queries'
import { resetTwoFactor } from '@matte/core/identity/account/reset-two-factor'
import { endSessions } from '@matte/core/identity/session/session-queries'
import { type Command, CommandError, UsageError } from '../command.ts'
import { required, requiredUuid, shortText } from '../options.ts'

const find: Command = {
  name: 'user find',
  usage: '--email ADDRESS',
  summary: 'show the account of an address',
  options: ['email'],
  run: async ({ db }, given) => {
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
      sessions: user.sessions ?? 0,
    }
  },
}

const disable: Command = {
  name: 'user disable',
  usage: '--user ID',
  summary: 'let somebody sign in no more, end all sessions and suspend that person’s API keys, within 5 s',
  options: ['user'],
  run: async ({ db }, given) => {
    const userId = requiredUuid(given, 'user')
    if (!(await disableUser(db, userId))) throw new CommandError(`there is no account ${userId}`)
    return { userId, disabled: true }
  },
}

const enable: Command = {
  name: 'user enable',
  usage: '--user ID',
  summary: 'let somebody sign in again; that person’s API keys work again',
  options: ['user'],
  run: async ({ db }, given) => {
    const userId = requiredUuid(given, 'user')
    if (!(await enableUser(db, userId))) throw new CommandError(`there is no account ${userId}`)
    return { userId, disabled: false }
  },
}

const resetFactor: Command = {
  name: 'user reset-two-factor',
  usage: '--user ID --reason TEXT',
  summary:
    'switch two-factor login off for somebody who has lost it, and end all sessions, within 5 s; the owner is told ' +
    'by mail, and the reason is in the log of the personal workspace',
  options: ['user', 'reason'],
  run: async ({ db }, given) => {
    const userId = requiredUuid(given, 'user')
    const endedSessions = await resetTwoFactor(db, { userId, reason: shortText(given, 'reason', 500) })
    if (endedSessions === undefined) throw new CommandError(`there is no account ${userId} with two-factor login`)
    return { userId, twoFactor: false, endedSessions }
  },
}

const invite: Command = {
  name: 'user invite',
  usage: '--email ADDRESS',
  summary: 'let an address register where AUTH_REGISTRATION is invite; it gets no mail from this',
  options: ['email'],
  run: async ({ db }, given) => {
    const email = required(given, 'email')
    if (!isAddress(email)) throw new UsageError('--email must be an address')
    await inviteToRegister(db, email)
    return { email, invited: true }
  },
}

const duplicatesAtOnce = 1_000

const duplicates: Command = {
  name: 'user duplicates',
  usage: '',
  summary: 'list the accounts that cannot log in, because another account has the same address, and that account',
  options: [],
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
  options: ['user'],
  run: async ({ db }, given) => {
    const userId = requiredUuid(given, 'user')
    const takenFrom = await takeAddress(db, userId)
    if (takenFrom === undefined) throw new CommandError(`there is no account ${userId}`)
    return { userId, takenFrom }
  },
}

const end: Command = {
  name: 'sessions end',
  usage: '--user ID',
  summary: 'sign somebody out everywhere; every replica refuses the tokens within 5 s',
  options: ['user'],
  run: async ({ db }, given) => {
    const userId = requiredUuid(given, 'user')
    return { userId, endedSessions: await endSessions(db, userId) }
  },
}

export const userCommands: readonly Command[] = [find, disable, enable, resetFactor, invite, duplicates, take, end]
