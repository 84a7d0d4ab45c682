import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { getCallbackSecret } from '@matte/core/workspace/callback-secret'
import { Type } from 'typebox'
import { named, refer, responses, success } from '../../../schemas/schema.ts'

export type SigningSecretDeps = { readonly db: Db; readonly masterKeys: MasterKeys }

export const signingSecretSchema = named(
  'SigningSecret',
  { signingSecret: Type.String({ description: '`whsec_` and base64; the whole text keys X-Service-Signature.' }) },
  { examples: [{ signingSecret: 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=' }] },
)

const getSchema = {
  operationId: 'getSigningSecret',
  summary: 'Get the secret that signs callbacks of this workspace',
  tags: ['Webhooks'],
  response: responses(200, success('The secret.', refer(signingSecretSchema)), []),
}

export const signingSecretRoutes: FastifyPluginAsyncTypebox<SigningSecretDeps> = async (app, { db, masterKeys }) => {
  app.get('/signing-secret', { schema: getSchema, config: { scope: 'webhooks:write' } }, async (request) => ({
    signingSecret: await getCallbackSecret(db, masterKeys, request.caller.workspaceId),
  }))
}
