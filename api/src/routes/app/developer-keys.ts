import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { apiKeyNotFound, endApiKey, readApiKey } from '@matte/core/workspace/key/end-key'
import { makeKey, rollKey } from '@matte/core/workspace/key/make-key'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { apiKeyRequest, newApiKeySchema, rollRequest } from '../../schemas/app/developer.ts'
import { memberResponses, refer, success } from '../../schemas/schema.ts'
import { deletedSchema } from '../../schemas/webhook.ts'
import { isUuid } from '../../uuid.ts'
import { toApiKeyView } from '../../views/api-key-view.ts'
import { centre, centreTags as tags } from '../task/front.ts'

const apiKeyId = Type.Object({ apiKeyId: Type.String() })

const create = {
  operationId: 'appCreateApiKey',
  summary: 'Make an API key',
  description: 'Every plan may have keys; whether they may call the Developer API is said by the plan.',
  tags,
  body: apiKeyRequest,
  response: memberResponses(201, success('The key, shown this once.', refer(newApiKeySchema)), ['CONFLICT']),
}
const roll = {
  operationId: 'appRollApiKey',
  summary: 'Replace an API key',
  description:
    'The new key has the name, the scopes and the lifetime of the old one, which works for the overlap as well. ' +
    'A key is rolled once; `CONFLICT` also for one that works no more.',
  tags,
  params: apiKeyId,
  body: rollRequest,
  response: memberResponses(201, success('The new key, shown this once.', refer(newApiKeySchema)), [
    'NOT_FOUND',
    'CONFLICT',
  ]),
}
const revoke = {
  operationId: 'appRevokeApiKey',
  summary: 'Revoke an API key',
  description: 'In force within 5 seconds. The key stays in the list, as revoked.',
  tags,
  params: apiKeyId,
  response: memberResponses(200, success('It works no more.', refer(deletedSchema)), ['NOT_FOUND']),
}

type KeyDeps = { readonly db: Db }

/** Keys are made, rolled and revoked by people alone: a key can never make a key (D13). */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyDeps> = async (app, { db }) => {
  const replay = async ({ caller }: FastifyRequest, id: string) =>
    toApiKeyView(await readApiKey(db, caller.workspaceId, id))
  const makes = { ...centre, idempotent: replay } as const

  app.post('/api-keys', { schema: create, config: makes }, async ({ caller, member, body, once }, reply) => {
    const { name, expiresAt } = body
    const { key, ...made } = await makeKey(db, {
      workspaceId: caller.workspaceId,
      userId: member.userId,
      name,
      scopes: [...new Set(body.scopes)],
      expiresAt: expiresAt == null ? null : new Date(expiresAt),
      once,
    })
    reply.code(201)
    return { ...toApiKeyView(made), key }
  })

  /** The id is judged before the body (D4). */
  const exists = async ({ caller, params }: FastifyRequest): Promise<void> => {
    await readApiKey(db, caller.workspaceId, ownForm((params as { apiKeyId: string }).apiKeyId))
  }
  const rollOptions = { schema: roll, config: makes, onRequest: exists }
  app.post('/api-keys/:apiKeyId/roll', rollOptions, async ({ caller, member, params, body, once }, reply) => {
    const { key, ...made } = await rollKey(db, {
      workspaceId: caller.workspaceId,
      userId: member.userId,
      id: ownForm(params.apiKeyId),
      overlapSeconds: body.overlapSeconds,
      once,
    })
    reply.code(201)
    return { ...toApiKeyView(made), key }
  })

  app.delete('/api-keys/:apiKeyId', { schema: revoke, config: { ...centre, exists } }, async ({ caller, params }) => {
    const id = ownForm(params.apiKeyId)
    await endApiKey(db, caller.workspaceId, id)
    return { id, deleted: true as const }
  })
}

/** @throws MatteError NOT_FOUND when it is no UUID (D3) */
function ownForm(id: string): string {
  if (!isUuid(id)) throw apiKeyNotFound()
  return id.toLowerCase()
}
