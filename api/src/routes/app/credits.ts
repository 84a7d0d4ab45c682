import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readAlertSettings, writeAlertSettings } from '@matte/core/credit/alert-settings'
import { readBalance } from '@matte/core/credit/balance'
import { endingLotsMax, listEndingLots } from '@matte/core/credit/list/ending-lots'
import { countEntries, entryTypes, listEntries } from '@matte/core/credit/list/ledger-queries'
import { countLots, listLots } from '@matte/core/credit/list/list-lots'
import type { Db } from '@matte/core/db/database'
import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import {
  alertSettingsSchema,
  balanceSchema,
  expiryAlertSchema,
  ledgerEntrySchema,
  lotSchema,
  newAlertSettings,
} from '../../schemas/app/credit.ts'
import { pageOf, pageQuery, spanQuery } from '../../schemas/page.ts'
import { memberResponses, oneOf, refer, success } from '../../schemas/schema.ts'
import { toExpiryAlertView, toLedgerEntryView, toLotView } from '../../views/app/credit-view.ts'
import { buildPage, isEntryId, readTaskQuery } from '../../views/task-page.ts'
import { toWholeList } from '../../views/whole-list.ts'

type CreditDeps = { readonly db: Db }

const tags = ['Credits']

const balance = {
  operationId: 'getBalance',
  summary: 'Get the credits of the workspace',
  tags,
  response: memberResponses(200, success('The balance.', refer(balanceSchema)), []),
}
const ledger = {
  operationId: 'listLedger',
  summary: 'List the movements of credits, newest first',
  description: 'Every change of every credit. Nothing in it is ever changed or removed.',
  tags,
  querystring: Type.Object({
    ...pageQuery,
    type: Type.Optional(oneOf(entryTypes)),
    ...spanQuery,
  }),
  response: memberResponses(200, success('One page.', pageOf(refer(ledgerEntrySchema))), []),
}
const lots = {
  operationId: 'listCreditLots',
  summary: 'List the lots of credits, newest first',
  description: 'Credits that were granted together expire together. The ones that have nothing left are listed too.',
  tags,
  querystring: Type.Object(pageQuery),
  response: memberResponses(200, success('One page.', pageOf(refer(lotSchema))), []),
}
const expiryAlerts = {
  operationId: 'listExpiryAlerts',
  summary: 'List what expires within 30 days, the next first',
  description: `All of it on one page, up to ${endingLotsMax} lots.`,
  tags,
  response: memberResponses(200, success('All lots.', pageOf(refer(expiryAlertSchema))), []),
}
const alertSettings = {
  operationId: 'getCreditAlertSettings',
  summary: 'Get when alerts about credits are sent',
  tags,
  response: memberResponses(200, success('The settings.', refer(alertSettingsSchema)), []),
}
const changeAlertSettings = {
  operationId: 'setCreditAlertSettings',
  summary: 'Set when alerts about credits are sent',
  tags,
  body: newAlertSettings,
  response: memberResponses(200, success('The settings.', refer(alertSettingsSchema)), []),
}

const read = { access: { roles } } as const
const write = { access: { roles: ['owner', 'admin', 'billing'] } } as const

export const creditRoutes: FastifyPluginAsyncTypebox<CreditDeps> = async (app, { db }) => {
  app.get('/balance', { schema: balance, config: read }, async ({ caller: { workspaceId } }) => {
    const [{ soonUntil, expiringSoon, ...counts }, { lowBalanceThreshold }] = await Promise.all([
      readBalance(db, workspaceId),
      readAlertSettings(db, workspaceId),
    ])
    return { ...counts, expiringSoon: { amount: expiringSoon, before: soonUntil.toISOString() }, lowBalanceThreshold }
  })

  app.get('/ledger', { schema: ledger, config: read }, async ({ query, caller: { workspaceId } }) => {
    const { from, before, ...wanted } = readTaskQuery(query, isEntryId)
    const filter = { workspaceId, type: query.type, from, before }
    const { pageSize, offset, after } = wanted
    // One more than the page shows whether another follows.
    const [rows, total] = await Promise.all([
      listEntries(db, filter, { limit: pageSize + 1, offset, after }),
      countEntries(db, filter),
    ])
    const shown = rows.slice(0, pageSize)
    return buildPage(shown.map(toLedgerEntryView), wanted, { total, next: nextOf(rows, shown) })
  })

  app.get('/lots', { schema: lots, config: read }, async ({ query, caller: { workspaceId } }) => {
    const wanted = readTaskQuery(query)
    const { pageSize, offset, after } = wanted
    const [rows, total] = await Promise.all([
      listLots(db, workspaceId, { limit: pageSize + 1, offset, after }),
      countLots(db, workspaceId),
    ])
    const shown = rows.slice(0, pageSize)
    return buildPage(shown.map(toLotView), wanted, { total, next: nextOf(rows, shown) })
  })

  app.get('/expiry-alerts', { schema: expiryAlerts, config: read }, async ({ caller }) => {
    const ending = await listEndingLots(db, caller.workspaceId)
    return toWholeList(ending.map(toExpiryAlertView))
  })

  app.get('/alert-settings', { schema: alertSettings, config: read }, ({ caller }) =>
    readAlertSettings(db, caller.workspaceId),
  )

  app.put('/alert-settings', { schema: changeAlertSettings, config: write }, ({ caller, body }) =>
    writeAlertSettings(db, caller.workspaceId, body),
  )
}

type Listed = { readonly id: string; readonly created_at_micros: string }

function nextOf(rows: readonly Listed[], shown: readonly Listed[]) {
  const last = rows.length > shown.length ? shown.at(-1) : undefined
  return last && { createdAtMicros: last.created_at_micros, id: last.id }
}
