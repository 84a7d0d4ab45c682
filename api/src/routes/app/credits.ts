import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readBalance } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import { roles } from '@matte/core/workspace/role'
import { balanceSchema } from '../../schemas/app/credit.ts'
import { memberResponses, refer, success } from '../../schemas/schema.ts'

type CreditDeps = { readonly db: Db }

const balance = {
  operationId: 'getBalance',
  summary: 'Get the credits of the workspace',
  tags: ['Credits'],
  response: memberResponses(200, success('The balance.', refer(balanceSchema)), []),
}

export const creditRoutes: FastifyPluginAsyncTypebox<CreditDeps> = async (app, { db }) => {
  app.get('/balance', { schema: balance, config: { access: { roles } } }, async ({ caller }) => {
    const { expiringSoon, ...balance } = await readBalance(db, caller.workspaceId)
    return { ...balance, expiringSoon: { amount: expiringSoon } }
  })
}
