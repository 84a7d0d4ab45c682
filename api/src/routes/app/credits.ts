import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readAlertSettings, writeAlertSettings } from '@matte/core/credit/alert-settings'
import { readBalance } from '@matte/core/credit/balance'
import { countEntries, entryTypes, listEntries } from '@matte/core/credit/list/ledger-queries'
import { countLots, endingLotsMax, listEndingLots, listLots } from '@matte/core/credit/list/list-lots'
import type { Db } from '@matte/core/db/database'
import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { commitChange } from '../../http/audit.ts'
import { isEntryId, readListQuery, readPage, toWholeList } from '../../paging.ts'
import {
  alertSettingsSchema,
  balanceSchema,
  expiryAlertSchema,
  ledgerEntrySchema,
  lotSchema,
  newAlertSettings,
  toExpiryAlertView,
  toLedgerEntryView,
  toLotView,
} from '../../schemas/app/credit.ts'
import { pageOf, pageQuery, spanQuery } from '../../schemas/page.ts'
import { memberResponses, oneOf, refer, success } from '../../schemas/schema.ts'

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
  description: 'Entries are never changed or removed.',
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
  description: 'Credits that were granted together expire together. Empty lots are listed too.',
  tags,
  querystring: Type.Object(pageQuery),
  response: memberResponses(200, success('One page.', pageOf(refer(lotSchema))), []),
}
const expiryAlerts = {
  operationId: 'listExpiryAlerts',
  summary: 'List credits that expire within 30 days, the earliest first',
  description: `One page with up to ${endingLotsMax} lots.`,
  tags,
  response: memberResponses(200, success('All lots.', pageOf(refer(expiryAlertSchema))), []),
}
const alertSettings = {
  operationId: 'getCreditAlertSettings',
  summary: 'Get the settings of credit alerts',
  tags,
  response: memberResponses(200, success('The settings.', refer(alertSettingsSchema)), []),
}
const changeAlertSettings = {
  operationId: 'setCreditAlertSettings',
  summary: 'Change the settings of credit alerts',
  tags,
  body: newAlertSettings,
  response: memberResponses(200, success('The settings.', refer(alertSettingsSchema)), []),
}

const read = { access: { roles } } as const
const write = { access: { roles: ['owner', 'admin', 'billing'] } } as const

export const creditRoutes: FastifyPluginAsyncTypebox<CreditDeps> = async (app, { db }) => {
  app.get('/api/v1/app/credits/balance', { schema: balance, config: read }, async ({ caller: { workspaceId } }) => {
    const [{ soonUntil, expiringSoon, ...counts }, { lowBalanceThreshold }] = await Promise.all([
      readBalance(db, workspaceId),
      readAlertSettings(db, workspaceId),
    ])
    return { ...counts, expiringSoon: { amount: expiringSoon, before: soonUntil.toISOString() }, lowBalanceThreshold }
  })

  app.get(
    '/api/v1/app/credits/ledger',
    { schema: ledger, config: read },
    async ({ query, caller: { workspaceId } }) => {
      const { from, before, ...page } = readListQuery(query, isEntryId)
      const filter = { workspaceId, type: query.type, from, before }
      return readPage(page, {
        read: (range) => Promise.all([listEntries(db, filter, range), range.total ?? countEntries(db, filter)]),
        micros: (row) => row.created_at_micros,
        view: toLedgerEntryView,
      })
    },
  )

  app.get('/api/v1/app/credits/lots', { schema: lots, config: read }, async ({ query, caller: { workspaceId } }) =>
    readPage(readListQuery(query), {
      read: (range) => Promise.all([listLots(db, workspaceId, range), countLots(db, workspaceId)]),
      micros: (row) => row.created_at_micros,
      view: toLotView,
    }),
  )

  app.get('/api/v1/app/credits/expiry-alerts', { schema: expiryAlerts, config: read }, async ({ caller }) => {
    const ending = await listEndingLots(db, caller.workspaceId)
    return toWholeList(ending.map(toExpiryAlertView))
  })

  app.get('/api/v1/app/credits/alert-settings', { schema: alertSettings, config: read }, ({ caller }) =>
    readAlertSettings(db, caller.workspaceId),
  )

  app.put('/api/v1/app/credits/alert-settings', { schema: changeAlertSettings, config: write }, (request) =>
    commitChange(db, request, (tx) => writeAlertSettings(tx, request.caller.workspaceId, request.body)),
  )
}
