// matte keys, usage, credits, models: what the workspace has and used.
import type { Command } from 'commander'
import type { ApiKey, Model, Usage } from 'matte-client'
import { formatDuration, formatTime } from './print/format.ts'
import type { Column } from './print/table.ts'
import { type CommonOptions, connect, withCommon } from './session.ts'
import { printAll } from './tasks/print-all.ts'

const keyColumns: readonly Column<ApiKey>[] = [
  { title: 'name', value: ({ name }) => name },
  { title: 'key', value: ({ prefix, lastFour }) => `${prefix}…${lastFour}` },
  { title: 'state', value: stateOf },
  { title: 'last used', value: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : formatTime(lastUsedAt)) },
  { title: 'scopes', value: ({ scopes }) => scopes.join(' ') },
]

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt === null) return 'valid'
  return Date.parse(expiresAt) < Date.now() ? 'expired' : `until ${formatTime(expiresAt)}`
}

const modelColumns: readonly Column<Model>[] = [
  { title: 'model', value: (model) => model.modelVersion + (model.default ? ' (default)' : '') },
  { title: 'speed', value: ({ speed }) => speed },
  { title: 'input', value: ({ inputSize }) => (inputSize === null ? null : `${inputSize}×${inputSize}`) },
  { title: 'licence', value: ({ licence }) => licence },
]

const dayColumns: readonly Column<Usage['daily'][number]>[] = [
  { title: 'day', value: ({ date }) => date },
  { title: 'tasks', value: ({ totalTasks }) => totalTasks },
  { title: 'succeeded', value: ({ succeededTasks }) => succeededTasks },
  { title: 'failed', value: ({ failedTasks }) => failedTasks },
  { title: 'credits', value: ({ creditsConsumed }) => creditsConsumed },
  { title: 'requests', value: ({ apiRequests }) => apiRequests },
  { title: 'latency', value: ({ averageLatencyMs }) => formatDuration(averageLatencyMs) },
]

export function addWorkspaceCommands(program: Command): void {
  const keys = program.command('keys').description('list the API keys of the workspace')
  withCommon(keys.command('list').description('list API keys, never the keys themselves')).action(listKeys)
  withCommon(program.command('usage').description('tasks, credits and quota of this month'))
    .option('--daily', 'add a table of the last 30 days')
    .action(showUsage)
  withCommon(program.command('credits').description('credits that are left, and those used this month')).action(
    showCredits,
  )
  withCommon(program.command('models').description('models to choose from with matte cut --model')).action(listModels)
}

async function listKeys(common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  await printAll(matte.apiKeys.list(), { out, columns: keyColumns, none: 'There are no API keys.' })
}

async function listModels(common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  await printAll(matte.models.list(), { out, columns: modelColumns, none: 'There are no models.' })
}

async function showUsage({ daily = false, ...common }: CommonOptions & { daily?: boolean }): Promise<void> {
  const { matte, out } = await connect(common)
  const usage = await matte.usage.get()
  const { period, monthlyQuota } = usage
  out.fields(usage, [
    ['period', `${period.start.slice(0, 10)} to ${period.end.slice(0, 10)}`],
    ['tasks', usage.totalTasks],
    ['succeeded', usage.succeededTasks],
    ['failed', usage.failedTasks],
    ['canceled', usage.canceledTasks],
    ['error rate', `${(usage.errorRate * 100).toFixed(1)} %`],
    ['average latency', formatDuration(usage.averageLatencyMs)],
    ['credits used', usage.creditsConsumed],
    ['API requests', usage.apiRequests],
    ['quota', describeQuota(monthlyQuota)],
  ])
  if (!daily || out.json) return
  out.line('')
  out.table(usage.daily, dayColumns, '')
}

function describeQuota({ limit, used, remaining, resetsAt }: Usage['monthlyQuota']): string {
  if (limit === null) return `${used} used, no limit`
  return `${used} of ${limit} used, ${remaining} left until ${resetsAt.slice(0, 10)}`
}

function describeCredits(credits: Usage['credits'] | undefined): string {
  if (credits === undefined) return 'this version of the service does not report the balance'
  if (credits === null) return 'the plan is not charged'
  return `${credits.available.toLocaleString('en')} left, ${credits.held.toLocaleString('en')} held for open tasks`
}

async function showCredits(common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  const { period, credits, creditsConsumed, monthlyQuota } = await matte.usage.get()
  out.fields({ period, credits, creditsConsumed, monthlyQuota }, [
    ['credits', describeCredits(credits)],
    ['period', `${period.start.slice(0, 10)} to ${period.end.slice(0, 10)}`],
    ['credits used', creditsConsumed],
    ['quota', describeQuota(monthlyQuota)],
  ])
}
