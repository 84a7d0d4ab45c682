import { MatteError } from '@matte/core/error'
import { endSubscriptions } from '@matte/core/payment/subscriptions'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { type Command, CommandError, UsageError } from '../command.ts'
import { requiredUuid } from '../options.ts'

const end: Command = {
  name: 'subscription end',
  usage: '--workspace ID --yes',
  summary:
    'end the subscription of a workspace at its provider, at once, nothing paid back; what is open of it cannot be ' +
    'paid any more; needs the settings of payments and MASTER_KEYS as the API has them',
  options: ['workspace'],
  takesYes: true,
  run: async ({ db, payments }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    if (!given.yes) throw new UsageError('--yes is needed: a subscription that has ended does not come back')
    if ((await findWorkspace(db, workspaceId)) === undefined) {
      throw new CommandError(`there is no workspace ${workspaceId}`)
    }
    const ended = await endSubscriptions(await payments(), workspaceId).catch((error: unknown) => {
      throw error instanceof MatteError ? new CommandError(error.message) : error
    })
    const { plan } = (await findWorkspace(db, workspaceId)) ?? {}
    return { workspaceId, ended, plan: plan ?? null }
  },
}

export const subscriptionCommands: readonly Command[] = [end]
