import { grantCredits } from '@matte/core/credit/lot-queries'
import { setOperatorPlan } from '@matte/core/credit/operator-plan'
import type { Db } from '@matte/core/db/database'
import { generateApiKey, isWellFormedApiKey, type NewApiKey, toApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { planNamed } from '@matte/core/workspace/plan'
import { findRetentionIssue, retentionSecondsMin, toRetention, writeRetention } from '@matte/core/workspace/retention'
import { scopes } from '@matte/core/workspace/scope'
import {
  holdsNoWorkspace,
  insertWorkspace,
  listWorkspaces,
  lockWorkspace,
} from '@matte/core/workspace/workspace-queries'
import { publishPlan } from '@matte/people/notification/publish-events'
import { type Command, type CommandDeps, CommandError, type Given, UsageError } from './command.ts'
import { creditsMax } from './credits.ts'
import { required, requiredUuid, wholeNumber } from './options.ts'

const ofNew = ({ workspaceId }: { readonly workspaceId: string }) => ({ workspaceId, target: workspaceId })

const create: Command = {
  name: 'workspace create',
  usage: '--name NAME [--plan PLAN] [--credits N]',
  summary:
    'create a workspace with one key that has every scope, and the credits of its plan or --credits instead; ' +
    'the plan is internal by default while ACCOUNTS_ENABLED is false',
  changes: true,
  run: async ({ change, plans, accountsEnabled }, given) => {
    const wanted = readWorkspace(given, plans, accountsEnabled ? undefined : 'internal')
    const credits =
      given.values.credits === undefined ? 0 : wholeNumber(given.values.credits, 'credits', { min: 0, max: creditsMax })
    const key = generateApiKey()
    return change(ofNew, async (tx) => {
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
  summary: 'create the first workspace with the key in MATTE_API_KEY; does nothing if a workspace exists',
  changes: true,
  run: async ({ db, auditOf, plans }, given) => {
    const wanted = readWorkspace(given, plans)
    const text = process.env.MATTE_API_KEY ?? ''
    if (!isWellFormedApiKey(text)) throw new UsageError('MATTE_API_KEY must be an API key')
    return db.transaction().execute(async (tx) => {
      if (!(await holdsNoWorkspace(tx))) return { created: false }
      const made = await insertWithKey(tx, wanted, toApiKey(text))
      await auditOf(ofNew(made))(tx)
      return { created: true, ...made }
    })
  },
}

/** Workspaces of one answer. */
const listedMax = 1_000

const list: Command = {
  name: 'workspace list',
  usage: '[--name TEXT]',
  summary:
    `list workspaces, newest first, at most ${listedMax}: id, name, kind, plan, time of creation, and the user of a ` +
    'personal one; --name keeps those whose name has the text',
  run: async ({ db }, given) => {
    const rows = await listWorkspaces(db, { name: given.values.name, limit: listedMax })
    const workspaces = rows.map(({ id, created_at: createdAt, personal_of: userId, ...workspace }) => ({
      workspaceId: id,
      ...workspace,
      createdAt: createdAt.toISOString(),
      userId,
    }))
    return { workspaces }
  },
}

const plan: Command = {
  name: 'workspace plan',
  usage: '--workspace ID --plan PLAN',
  summary:
    'set the plan of a workspace: grants its credits now and with each calendar month, UTC; refused while a ' +
    'subscription sets the plan: see `subscription end`',
  changes: true,
  run: async ({ change, plans }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const plan = requiredPlan(given, plans)
    const set = await change({ workspaceId, target: workspaceId }, async (tx) => {
      const changed = await changePlan(tx, plans, { workspaceId, plan })
      if (changed === undefined) throw new CommandError(`there is no workspace ${workspaceId}`)
      return changed
    })
    return { workspaceId, plan, creditsOfThisMonth: set.credits }
  },
}

const retention: Command = {
  name: 'workspace retention',
  usage: '--workspace ID --seconds N|default',
  summary:
    `set how long a workspace keeps finished tasks, at least ${retentionSecondsMin} seconds and at most the days of its ` +
    'plan; `default`: as the installation or plan says. Tasks that are now too old are deleted by the next sweep',
  changes: true,
  run: async ({ change, plans }, given) => {
    const workspaceId = requiredUuid(given, 'workspace')
    const text = required(given, 'seconds')
    const range = { min: retentionSecondsMin, max: 2_147_483_647 }
    const seconds = text === 'default' ? null : wholeNumber(text, 'seconds', range)
    return change({ workspaceId, target: workspaceId }, async (tx) => {
      const workspace = await lockWorkspace(tx, workspaceId)
      if (workspace === undefined || !(await writeRetention(tx, workspaceId, seconds))) {
        throw new CommandError(`there is no workspace ${workspaceId}`)
      }
      const plan = planNamed(plans, workspace.plan)
      const issue = findRetentionIssue(plan, seconds, '--seconds')
      if (issue !== undefined) throw new UsageError(`--seconds ${issue.message}`)
      return { workspaceId, ...toRetention(plan, seconds) }
    })
  },
}

async function changePlan(tx: Db, plans: CommandDeps['plans'], wanted: { workspaceId: string; plan: string }) {
  const set = await setOperatorPlan(tx, plans, wanted)
  if (set?.isChanged) await publishPlan(tx, { ...wanted, message: `The plan is now ${wanted.plan}.` })
  return set
}

type NewWorkspace = { readonly name: string; readonly plan: string }

function readWorkspace(given: Given, plans: CommandDeps['plans'], defaultPlan?: string): NewWorkspace {
  const name = required(given, 'name')
  const plan = requiredPlan(given, plans, defaultPlan)
  if (name.length > 200) throw new UsageError('--name must have at most 200 characters')
  return { name, plan }
}

function requiredPlan(given: Given, plans: CommandDeps['plans'], defaultPlan?: string): string {
  const plan = given.values.plan ?? defaultPlan ?? required(given, 'plan')
  if (!Object.hasOwn(plans, plan)) throw new UsageError(`--plan must be one of ${Object.keys(plans).join(', ')}`)
  return plan
}

async function insertWithKey(tx: Db, workspace: NewWorkspace, key: NewApiKey) {
  const { id: workspaceId } = await insertWorkspace(tx, workspace)
  const operator_plan = workspace.plan === 'free' ? null : workspace.plan
  await tx.updateTable('workspace').set({ operator_plan }).where('id', '=', workspaceId).execute()
  const row = await insertApiKey(tx, key, { workspaceId, name: 'first', scopes, expiresAt: null })
  if (row === undefined) throw new CommandError('the first key could not be stored; nothing was created')
  return { workspaceId, apiKeyId: row.id }
}

export const workspaceCommands: readonly Command[] = [create, first, list, plan, retention]
