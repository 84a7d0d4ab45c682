// API keys (read only), usage, models and the signing secret of a workspace.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { ListedModel } from '@matte/core/model/model-queries'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { readUsage } from '@matte/core/usage/read-usage'
import { listApiKeys } from '@matte/core/workspace/api-key-queries'
import { getCallbackSecret } from '@matte/core/workspace/callback-secret'
import { toWholeList } from '../../paging.ts'
import { modelSchema, toModelView } from '../../schemas/model.ts'
import { pageOf } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import { toUsageView, usageSchema } from '../../schemas/usage.ts'
import { signingSecretSchema } from '../../schemas/webhook.ts'
import { type ApiSurface, configOf, type Operation, type Responses } from './api-surface.ts'

export type WorkspaceDeps = {
  readonly surface: ApiSurface
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly models: { valid(): Promise<readonly ListedModel[]> }
}

const secretSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get the secret that signs callbacks of this workspace',
  tags,
  response: responses(200, success('The secret.', refer(signingSecretSchema)), []),
})
const keysSchema = ({ operationId, tags }: Operation, { responses, apiKeys }: ApiSurface) => ({
  operationId,
  summary: 'List the API keys of your workspace, newest first',
  description: 'One page with all keys, including revoked and expired ones. The key itself is never returned.',
  tags,
  response: responses(200, success('All keys.', pageOf(refer(apiKeys.schema))), []),
})
const getUsageSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get usage statistics of this month and a trend of 30 days',
  tags,
  response: responses(200, success('The statistics.', refer(usageSchema)), []),
})
const modelsSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'List the models that a task may name',
  description: 'All installed models by name, including those that start on demand. Up to 5 s old.',
  tags,
  response: responses(200, success('All models.', pageOf(refer(modelSchema))), []),
})

export const workspaceRoutes: FastifyPluginAsyncTypebox<WorkspaceDeps> = async (app, deps) => {
  const { db, masterKeys, models } = deps
  const { operations, responses, apiKeys } = deps.surface
  const { getSigningSecret, listApiKeys: listKeys, getUsage, listModels } = operations

  app.get(
    getSigningSecret.url,
    { schema: secretSchema(getSigningSecret, responses), config: configOf(getSigningSecret) },
    async ({ caller }) => ({ signingSecret: await getCallbackSecret(db, masterKeys, caller.workspaceId) }),
  )

  const keyOptions = { schema: keysSchema(listKeys, deps.surface), config: { access: listKeys.access } }
  app.get(listKeys.url, keyOptions, async ({ caller }) => {
    const keys = await listApiKeys(db, caller.workspaceId)
    return toWholeList(keys.map(apiKeys.view))
  })

  app.get(
    getUsage.url,
    { schema: getUsageSchema(getUsage, responses), config: { access: getUsage.access } },
    async ({ caller: { workspaceId, planLimits } }) => toUsageView(await readUsage(db, workspaceId, planLimits)),
  )

  app.get(
    listModels.url,
    { schema: modelsSchema(listModels, responses), config: { access: listModels.access } },
    async () => toWholeList((await models.valid()).map(toModelView)),
  )
}
