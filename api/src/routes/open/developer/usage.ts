import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { readUsage } from '@matte/core/usage/read-usage'
import { refer, responses, success } from '../../../schemas/schema.ts'
import { usageSchema } from '../../../schemas/usage.ts'
import { toUsageView } from '../../../views/usage-view.ts'

type UsageDeps = { readonly db: Db }

const getSchema = {
  operationId: 'getUsage',
  summary: 'Get usage statistics of this month and a trend of 30 days',
  tags: ['Usage'],
  response: responses(200, success('The statistics.', refer(usageSchema)), []),
}

export const usageRoutes: FastifyPluginAsyncTypebox<UsageDeps> = async (app, { db }) => {
  app.get('/usage', { schema: getSchema, config: { access: { scope: 'usage:read' } } }, async (request) => {
    const { workspaceId, planLimits } = request.caller
    return toUsageView(await readUsage(db, workspaceId, planLimits))
  })
}
