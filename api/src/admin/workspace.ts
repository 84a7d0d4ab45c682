import { grantCredits } from '@matte/core/credit/lot-queries'
import { setOperatorPlan } from '@matte/core/credit/operator-plan'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { publishPlan } from '@matte/core/notification/publish-plan'
import { generateApiKey, isWellFormedApiKey, type NewApiKey, toApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { holdsNoWorkspace, insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { type Command, type CommandDeps, CommandError, type Given, UsageError } from './command.ts'
import { creditsMax } from './credits.ts'
import { required, requiredUuid, wholeNumber } from './options.ts'

const create: Command = {
  name: 'workspace create',
  usage: '--name NAME --plan PLAN [--credits N]',
  summary:
    'make a workspace with one key that has every scope, and the credits of its plan, or in their place --credits',
  options: ['name', 'plan', 'credits'],
  run: async ({ db, plans }, given) => {
    const wanted = readWorkspace(given, plans)
    const credits =
      given.values.credits === undefined ? 0 : wholeNumber(given.values.credits, 'credits', { min: 0, max: creditsMax })
    const key = generateApiKey()
    return db.transaction().execute(async (tx) => {
      const { workspaceId, apiKeyId } = await insertWithKey(tx, wanted, key)
      const fromNextMonth = given.values.credits !== undefined
      await setOperatorPlan(tx, plans, { workspaceId, plan: wanted.plan, fromNextMonth })
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

const plan: Command = {
  name: 'workspace plan',
  usage: '--workspace ID --plan PLAN',
  summary:
    'set the plan of a workspace: its credits are granted at once, and with each calendar month, UTC; refused while ' +
    'a subscription sets the plan: see `subscription end`',
  options: ['workspace', 'plan'],
  run: async ({ db, plans }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const plan = requiredPlan(given, plans)
    const set = await db
      .transaction()
      .execute((tx) => changePlan(tx, plans, { workspaceId, plan }))
      .catch((error: unknown) => {
        throw error instanceof MatteError ? new CommandError(error.message) : error
      })
    if (set === undefined) throw new CommandError(`there is no workspace ${workspaceId}`)
    return { workspaceId, plan, creditsOfThisMonth: set.credits }
  },
}

async function changePlan(tx: Db, plans: CommandDeps['plans'], wanted: { workspaceId: string; plan: string }) {
  const set = await setOperatorPlan(tx, plans, wanted)
  if (set?.isChanged) await publishPlan(tx, { ...wanted, message: `The plan is now ${wanted.plan}.` })
  return set
}

type NewWorkspace = { readonly name: string; readonly plan: string }

/** @throws UsageError */
function readWorkspace(given: Given, plans: CommandDeps['plans']): NewWorkspace {
  const name = required(given, 'name')
  const plan = requiredPlan(given, plans)
  if (name.length > 200) throw new UsageError('--name must have at most 200 characters')
  return { name, plan }
}

/** @throws UsageError */
function requiredPlan(given: Given, plans: CommandDeps['plans']): string {
  const plan = required(given, 'plan')
  if (!Object.hasOwn(plans, plan)) throw new UsageError(`--plan must be one of ${Object.keys(plans).join(', ')}`)
  return plan
}

async function insertWithKey(tx: Db, workspace: NewWorkspace, key: NewApiKey) {
  const { id: workspaceId } = await insertWorkspace(tx, workspace)
  const operator_plan = workspace.plan === 'free' ? null : workspace.plan
  await tx.updateTable('workspace').set({ operator_plan }).where('id', '=', workspaceId).execute()
  const row = await insertApiKey(tx, key, { workspaceId, name: 'first', scopes, expiresAt: null })
  if (row === undefined) throw new CommandError('the first key could not be stored; nothing was made')
  return { workspaceId, apiKeyId: row.id }
}

export const workspaceCommands: readonly Command[] = [create, first, plan]
