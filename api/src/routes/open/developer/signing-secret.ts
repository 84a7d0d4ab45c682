import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { getCallbackSecret } from '@matte/core/workspace/callback-secret'
import { refer, responses, success } from '../../../schemas/schema.ts'
import { signingSecretSchema } from '../../../schemas/signing-secret.ts'

type SigningSecretDeps = { readonly db: Db; readonly masterKeys: MasterKeys }

const getSchema = {
  operationId: 'getSigningSecret',
  summary: 'Get the secret that signs callbacks of this workspace',
  tags: ['Webhooks'],
  response: responses(200, success('The secret.', refer(signingSecretSchema)), []),
}

export const signingSecretRoutes: FastifyPluginAsyncTypebox<SigningSecretDeps> = async (app, { db, masterKeys }) => {
  app.get(
    '/signing-secret',
    { schema: getSchema, config: { access: { scope: 'webhooks:write' } } },
    async (request) => ({
      signingSecret: await getCallbackSecret(db, masterKeys, request.caller.workspaceId),
    }),
  )
}
