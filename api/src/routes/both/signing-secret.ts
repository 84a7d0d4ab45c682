import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { getCallbackSecret } from '@matte/core/workspace/secret/callback-secret'
import { refer, success } from '../../schemas/schema.ts'
import { signingSecretSchema } from '../../schemas/signing-secret.ts'
import type { Front } from '../task/front.ts'

type SigningSecretDeps = { readonly front: Front; readonly db: Db; readonly masterKeys: MasterKeys }

export const signingSecretRoutes: FastifyPluginAsyncTypebox<SigningSecretDeps> = async (app, deps) => {
  const { front, db, masterKeys } = deps
  const schema = {
    operationId: front.operationId('getSigningSecret'),
    summary: 'Get the secret that signs callbacks of this workspace',
    tags: front.tags.webhooks,
    response: front.responses(200, success('The secret.', refer(signingSecretSchema)), []),
  }
  app.get('/signing-secret', { schema, config: { access: front.access.writeWebhooks } }, async ({ caller }) => ({
    signingSecret: await getCallbackSecret(db, masterKeys, caller.workspaceId),
  }))
}
