import { grantCredits } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import { generateApiKey, isWellFormedApiKey, type NewApiKey, toApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { holdsNoWorkspace, insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { type Command, type CommandDeps, CommandError, type Given, UsageError } from './command.ts'
import { creditsMax } from './credits.ts'
import { required, wholeNumber } from './options.ts'

const create: Command = {
  name: 'workspace create',
  usage: '--name NAME --plan PLAN [--credits N]',
  summary: 'make a workspace with one key that has every scope',
  options: ['name', 'plan', 'credits'],
  run: async ({ db, plans }, given) => {
    const wanted = readWorkspace(given, plans)
    const credits =
      given.values.credits === undefined ? 0 : wholeNumber(given.values.credits, 'credits', { min: 0, max: creditsMax })
    const key = generateApiKey()
    return db.transaction().execute(async (tx) => {
      const { workspaceId, apiKeyId } = await insertWithKey(tx, wanted, key)
      if (credits > 0) await grantCredits(tx, { workspaceId, kind: 'grant', amount: credits })
      return { workspaceId, apiKeyId, apiKey: key.key }
    })
  },
}

const first: Command = {
  name: 'workspace first',
  usage: '--name NAME --plan PLAN',
  summary: 'make the first workspace with the key in MATTE_API_KEY; does nothing where a workspace exists',
  options: ['name', 'plan'],
  run: async ({ db, plans }, given) => {
    const wanted = readWorkspace(given, plans)
    const text = process.env.MATTE_API_KEY ?? ''
    if (!isWellFormedApiKey(text)) throw new UsageError('MATTE_API_KEY must be an API key')
    return db.transaction().execute(async (tx) => {
      if (!(await holdsNoWorkspace(tx))) return { created: false }
      return { created: true, ...(await insertWithKey(tx, wanted, toApiKey(text))) }
    })
  },
}

type NewWorkspace = { readonly name: string; readonly plan: string }

/** @throws UsageError */
function readWorkspace(given: Given, plans: CommandDeps['plans']): NewWorkspace {
  const name = required(given, 'name')
  const plan = required(given, 'plan')
  if (name.length > 200) throw new UsageError('--name must have at most 200 characters')
  if (!Object.hasOwn(plans, plan)) throw new UsageError(`--plan must be one of ${Object.keys(plans).join(', ')}`)
  return { name, plan }
}

async function insertWithKey(tx: Db, workspace: NewWorkspace, key: NewApiKey) {
  const { id: workspaceId } = await insertWorkspace(tx, workspace)
  const row = await insertApiKey(tx, key, { workspaceId, name: 'first', scopes, expiresAt: null })
  if (row === undefined) throw new CommandError('the first key could not be stored; nothing was made')
  return { workspaceId, apiKeyId: row.id }
}

export const workspaceCommands: readonly Command[] = [create, first]
