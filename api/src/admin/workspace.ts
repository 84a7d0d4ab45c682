import { grantCredits } from '@matte/core/credit/lot-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { type Command, CommandError, UsageError } from './command.ts'
import { creditsMax } from './credits.ts'
import { required, wholeNumber } from './options.ts'

const create: Command = {
  name: 'workspace create',
  usage: '--name NAME --plan PLAN [--credits N]',
  summary: 'make a workspace with one key that has every scope',
  options: ['name', 'plan', 'credits'],
  run: async ({ db, plans }, given) => {
    const name = required(given, 'name')
    const plan = required(given, 'plan')
    if (name.length > 200) throw new UsageError('--name must have at most 200 characters')
    if (!Object.hasOwn(plans, plan)) throw new UsageError(`--plan must be one of ${Object.keys(plans).join(', ')}`)
    const credits =
      given.values.credits === undefined ? 0 : wholeNumber(given.values.credits, 'credits', { min: 0, max: creditsMax })
    const key = generateApiKey()
    return db.transaction().execute(async (tx) => {
      const { id: workspaceId } = await insertWorkspace(tx, { name, plan })
      const row = await insertApiKey(tx, key, { workspaceId, name: 'first', scopes, expiresAt: null })
      if (row === undefined) throw new CommandError('the first key could not be stored; nothing was made')
      if (credits > 0) await grantCredits(tx, { workspaceId, kind: 'grant', amount: credits })
      return { workspaceId, apiKeyId: row.id, apiKey: key.key }
    })
  },
}

export const workspaceCommands: readonly Command[] = [create]
