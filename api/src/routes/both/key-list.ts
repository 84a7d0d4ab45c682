import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { listApiKeys } from '@matte/core/workspace/api-key-queries'
import { apiKeySchema } from '../../schemas/api-key.ts'
import { pageOf } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import { toApiKeyView } from '../../views/api-key-view.ts'
import { toWholeList } from '../../views/whole-list.ts'
import type { Front } from '../task/front.ts'

type KeyListDeps = { readonly front: Front; readonly db: Db }

export const keyListRoutes: FastifyPluginAsyncTypebox<KeyListDeps> = async (app, { front, db }) => {
  const schema = {
    operationId: front.operationId('listApiKeys'),
    summary: 'List the API keys of your workspace, newest first',
    description: 'All of them, revoked and expired ones included, on one page. A key itself is shown by nothing.',
    tags: front.tags.apiKeys,
    response: front.responses(200, success('All keys.', pageOf(refer(apiKeySchema))), []),
  }
  app.get('/api-keys', { schema, config: { access: front.access.readApiKeys } }, async ({ caller }) => {
    const keys = await listApiKeys(db, caller.workspaceId)
    return toWholeList(keys.map(toApiKeyView))
  })
}
