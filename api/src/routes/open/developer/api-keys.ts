import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { apiKeysMax, listApiKeys } from '@matte/core/workspace/api-key-queries'
import { apiKeySchema } from '../../../schemas/api-key.ts'
import { pageOf } from '../../../schemas/page.ts'
import { refer, responses, success } from '../../../schemas/schema.ts'
import { toApiKeyView } from '../../../views/api-key-view.ts'
import { toWholeList } from '../../../views/whole-list.ts'

type ApiKeyDeps = { readonly db: Db }

const listSchema = {
  operationId: 'listApiKeys',
  summary: 'List the API keys of your workspace, newest first',
  description: 'All of them, revoked and expired ones included, on one page. A key itself is shown by nothing.',
  tags: ['API keys'],
  response: responses(200, success('All keys.', pageOf(refer(apiKeySchema))), []),
}

export const apiKeyRoutes: FastifyPluginAsyncTypebox<ApiKeyDeps> = async (app, { db }) => {
  app.get('/api-keys', { schema: listSchema, config: { access: { scope: 'api-keys:read' } } }, async ({ caller }) => {
    const keys = await listApiKeys(db, caller.workspaceId)
    return toWholeList(keys.map(toApiKeyView), apiKeysMax)
  })
}
