import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { readUsage } from '@matte/core/usage/read-usage'
import { refer, success } from '../../schemas/schema.ts'
import { usageSchema } from '../../schemas/usage.ts'
import { toUsageView } from '../../views/usage-view.ts'
import type { Front } from '../task/front.ts'

type UsageDeps = { readonly front: Front; readonly db: Db }

export const usageRoutes: FastifyPluginAsyncTypebox<UsageDeps> = async (app, { front, db }) => {
  const schema = {
    operationId: front.operationId('getUsage'),
    summary: 'Get usage statistics of this month and a trend of 30 days',
    tags: front.tags.usage,
    response: front.responses(200, success('The statistics.', refer(usageSchema)), []),
  }
  app.get(
    '/usage',
    { schema, config: { access: front.access.readUsage } },
    async ({ caller: { workspaceId, planLimits } }) => toUsageView(await readUsage(db, workspaceId, planLimits)),
  )
}
