// How long the workspace keeps finished tasks with their photos and results.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { invalidParams } from '@matte/core/invalid-params'
import { findRetentionIssue, readRetention, toRetention, writeRetention } from '@matte/core/workspace/retention'
import { roles } from '@matte/core/workspace/role'
import { commitChange } from '../../http/audit.ts'
import { retentionRequest, retentionSchema } from '../../schemas/app/retention.ts'
import { memberResponses, refer, success } from '../../schemas/schema.ts'

type RetentionDeps = { readonly db: Db }

const url = '/api/v1/app/tasks/retention'
const tags = ['Images']

const getSchema = {
  operationId: 'getRetention',
  summary: 'Get how long the workspace keeps finished tasks',
  tags,
  response: memberResponses(200, success('The retention.', refer(retentionSchema)), []),
}
const setSchema = {
  operationId: 'setRetention',
  summary: 'Change how long the workspace keeps finished tasks',
  description:
    'Applies to ended tasks too: those that are now too old are deleted within a minute or so, with photo, result and ' +
    'previews. Tasks whose creation chose a `retention` keep it.',
  tags,
  body: retentionRequest,
  response: memberResponses(200, success('The retention.', refer(retentionSchema)), []),
}

export const retentionRoutes: FastifyPluginAsyncTypebox<RetentionDeps> = async (app, { db }) => {
  app.get(url, { schema: getSchema, config: { access: { roles } } }, async ({ caller }) =>
    toRetention(caller.planLimits, await readRetention(db, caller.workspaceId)),
  )

  app.put(url, { schema: setSchema, config: { access: { roles: ['owner', 'admin'] } } }, async (request) => {
    const { workspaceId, planLimits } = request.caller
    const { retention } = request.body
    const issue = findRetentionIssue(planLimits, retention, '/body/retention')
    if (issue !== undefined) throw invalidParams([issue])
    await commitChange(db, request, (tx) => writeRetention(tx, workspaceId, retention))
    return toRetention(planLimits, retention)
  })
}
