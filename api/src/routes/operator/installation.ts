import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { boundedRead } from '@matte/core/sample/bounded-read'
import { findViolations, invariantNames } from '@matte/core/sample/invariants'
import { listBusyWorkspaces, listFailingEndpoints, readThroughput, throughputSeconds } from '@matte/core/sample/load'
import { readWaitingTasks } from '@matte/core/sample/waiting-tasks'
import type { SettingsCache } from '@matte/core/setting/settings-cache'
import { version } from '@matte/core/version'
import { Type } from 'typebox'
import { briefly } from '../../briefly.ts'
import type { Config } from '../../config.ts'
import { readDueItems } from '../../overdue.ts'
import { toWholeList } from '../../paging.ts'
import {
  busyWorkspaceSchema,
  failingEndpointSchema,
  invariantsSchema,
  overdueSchema,
  overviewSchema,
  toBusyWorkspaceView,
  toFailingEndpointView,
  toInvariantsView,
  toOverdueView,
  type Violations,
} from '../../schemas/operator.ts'
import { pageOf } from '../../schemas/page.ts'
import { refer, selfResponses, success, withDefault } from '../../schemas/schema.ts'
import { listAllPools } from './all-pools.ts'

export type InstallationDeps = {
  readonly db: Db
  readonly config: Config
  readonly settings: Pick<SettingsCache, 'current'>
}

const tags = ['Operator']
const access = { access: 'operator' } as const

const overviewRouteSchema = {
  operationId: 'getOverview',
  summary: 'Get queue, throughput and open problems of the installation',
  description: 'Reads of the database are reused for 3 s.',
  tags,
  response: selfResponses(200, success('The overview.', refer(overviewSchema)), []),
}
const workspacesSchema = {
  operationId: 'listBusyWorkspaces',
  summary: 'List the workspaces with most load',
  description:
    'The list is sorted by open tasks, then by tasks that ended in the last hour. Idle workspaces are not listed.',
  tags,
  querystring: Type.Object({
    limit: withDefault(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Workspaces to list.', examples: [20] }),
      20,
    ),
  }),
  response: selfResponses(200, success('The workspaces.', pageOf(refer(busyWorkspaceSchema))), []),
}
const endpointsSchema = {
  operationId: 'listFailingEndpoints',
  summary: 'List the webhook endpoints that fail, longest first',
  description: 'At most 100. An endpoint that fails for five days is disabled and no longer listed.',
  tags,
  response: selfResponses(200, success('The endpoints.', pageOf(refer(failingEndpointSchema))), []),
}
const overdueRouteSchema = {
  operationId: 'listOverdueWork',
  summary: 'List the work that falls due, with the age of the oldest',
  description: 'Every kind of work, the late ones first. Reads of the database are reused for 3 s.',
  tags,
  response: selfResponses(200, success('All kinds.', pageOf(refer(overdueSchema))), []),
}
const invariantsRouteSchema = {
  operationId: 'checkInvariants',
  summary: 'Check the invariants over recent rows',
  description: 'Bounded statements over recently changed rows; the log has more ids. Reused for a minute.',
  tags,
  response: selfResponses(200, success('All invariants.', refer(invariantsSchema)), []),
}

const endpointsMax = 100
/** Several consoles that refresh every few seconds cost as much as one. */
const recentMs = 3_000
const checkMs = 60_000

export const installationRoutes: FastifyPluginAsyncTypebox<InstallationDeps> = async (app, deps) => {
  const { db, config, settings } = deps
  const { plans, accountsEnabled } = config
  const bounded = <Value>(read: (db: Db) => Promise<Value>) => briefly(recentMs, () => boundedRead(db, read))
  const tasks = bounded((read) => readWaitingTasks(read, plans))
  const throughput = bounded(readThroughput)
  const pools = bounded((read) => listAllPools(read, plans))
  const endpoints = bounded((read) => listFailingEndpoints(read, endpointsMax))
  const due = bounded((read) => readDueItems(read, plans))
  let checked: Awaited<ReturnType<typeof checkAll>> | undefined
  const check = briefly(checkMs, async () => {
    checked = await checkAll(db)
    return checked
  })

  app.get('/api/v1/operator/overview', { schema: overviewRouteSchema, config: access }, async () => {
    // One after the other, so an overview takes a single connection.
    const waiting = await tasks()
    const ended = await throughput()
    const late = (await due()).filter(({ isLate }) => isLate)
    const failing = await endpoints()
    const listed = await pools()
    const { maintenance, dispatchPaused, batchEnabled } = settings.current()
    const perMinute = (number: number): number => Math.round((number * 600) / throughputSeconds) / 10
    return {
      ...{ version, readAt: new Date().toISOString(), maintenance, dispatchPaused, batchEnabled, accountsEnabled },
      queued: waiting.reduce((sum, each) => sum + each.waiting, 0),
      oldestSeconds: Math.max(0, ...waiting.map(({ oldestSeconds }) => oldestSeconds)),
      models: waiting.map(({ modelVersion, waiting: queued, oldestSeconds }) => ({
        modelVersion,
        queued,
        oldestSeconds,
      })),
      inFlight: ended.inFlight,
      throughput: {
        windowSeconds: throughputSeconds,
        succeededPerMinute: perMinute(ended.succeeded),
        failedPerMinute: perMinute(ended.failed),
        failedAttemptsPerMinute: perMinute(ended.failedAttempts),
        isMinimum: ended.isMinimum,
      },
      overdue: late.length,
      failingEndpoints: failing.length,
      brokenInvariants: checked?.found.filter(([, ids]) => ids.length > 0).length ?? null,
      pools: { total: listed.length, attention: listed.filter(({ runbook }) => runbook !== null).length },
    }
  })

  app.get('/api/v1/operator/workspaces', { schema: workspacesSchema, config: access }, async ({ query: { limit } }) => {
    const busy = await boundedRead(db, (read) => listBusyWorkspaces(read, limit))
    return toWholeList(busy.map(toBusyWorkspaceView))
  })

  app.get('/api/v1/operator/endpoints/failing', { schema: endpointsSchema, config: access }, async () =>
    toWholeList((await endpoints()).map(toFailingEndpointView)),
  )

  app.get('/api/v1/operator/overdue', { schema: overdueRouteSchema, config: access }, async () => {
    const items = await due()
    return toWholeList(items.toSorted((a, b) => Number(b.isLate) - Number(a.isLate)).map(toOverdueView))
  })

  app.get('/api/v1/operator/invariants', { schema: invariantsRouteSchema, config: access }, async () =>
    toInvariantsView(await check()),
  )
}

/** Each check in its own bounded transaction, one after the other. */
async function checkAll(db: Db): Promise<{ readonly checkedAt: Date; readonly found: Violations }> {
  const found: [(typeof invariantNames)[number], readonly string[]][] = []
  for (const invariant of invariantNames) {
    found.push([invariant, await boundedRead(db, (read) => findViolations(read, invariant))])
  }
  return { checkedAt: new Date(), found }
}
