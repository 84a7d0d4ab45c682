// Operations of the developer centre that need a signed-in person: API keys, the callback secret, the events.

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { readUsageDetail } from '@matte/core/usage/read-usage-detail'
import { rotateCallbackSecret } from '@matte/core/workspace/callback-secret'
import { parseKeyNetwork } from '@matte/core/workspace/key/allowed-networks'
import { apiKeyNotFound, endApiKey, readApiKey } from '@matte/core/workspace/key/end-key'
import { makeKey, rollKey } from '@matte/core/workspace/key/make-key'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { commitChange } from '../../http/audit.ts'
import { toWholeList } from '../../paging.ts'
import { toMemberApiKeyView } from '../../schemas/api-key.ts'
import {
  apiKeyRequest,
  eventSchema,
  newApiKeySchema,
  rollRequest,
  rotatedSigningSecretSchema,
  secretRotationRequest,
  toEventViews,
} from '../../schemas/app/developer.ts'
import { pageOf } from '../../schemas/page.ts'
import { memberResponses, refer, success } from '../../schemas/schema.ts'
import { toUsageDetailView, usageDetailSchema } from '../../schemas/usage.ts'
import { deletedSchema } from '../../schemas/webhook.ts'
import { normalizeId } from '../../uuid.ts'
import { developerCentre, developerCentreTags as tags } from './app-surface.ts'

const rotate = {
  operationId: 'appRotateSigningSecret',
  summary: 'Rotate the secret that signs callbacks of the workspace',
  description:
    'During the overlap, `X-Service-Signature` uses the previous secret and `webhook-signature` carries both signatures.',
  tags,
  body: secretRotationRequest,
  response: memberResponses(200, success('The new secret.', refer(rotatedSigningSecretSchema)), []),
}
const usageDetail = {
  operationId: 'getUsageDetail',
  summary: 'Get usage by model and by member',
  description:
    'Tasks created with a key count for the member who created the key. Tasks from before an upgrade to this operation are missing.',
  tags,
  response: memberResponses(200, success('The statistics.', refer(usageDetailSchema)), []),
}
const catalog = {
  operationId: 'appListEvents',
  summary: 'List the events that webhooks can carry',
  tags,
  response: memberResponses(200, success('All events.', pageOf(refer(eventSchema))), []),
}

type DeveloperDeps = { readonly db: Db; readonly masterKeys: MasterKeys }

export const developerRoutes: FastifyPluginAsyncTypebox<DeveloperDeps> = async (app, { db, masterKeys }) => {
  await keyRoutes(app, { db })

  app.post(
    '/api/v1/app/developer/signing-secret/rotate',
    { schema: rotate, config: { ...developerCentre, needsProof: true } },
    async (request) => {
      const { workspaceId } = request.caller
      const { overlapSeconds } = request.body
      const { signingSecret, previousUntil } = await commitChange(db, request, (tx) =>
        rotateCallbackSecret(tx, masterKeys, { workspaceId, overlapSeconds }),
      )
      return { signingSecret, previousSecretExpiresAt: previousUntil?.toISOString() ?? null }
    },
  )

  app.get('/api/v1/app/developer/usage/detail', { schema: usageDetail, config: developerCentre }, async ({ caller }) =>
    toUsageDetailView(await readUsageDetail(db, caller.workspaceId)),
  )

  const events = toEventViews()
  app.get('/api/v1/app/developer/event-catalog', { schema: catalog, config: developerCentre }, async () =>
    toWholeList(events),
  )
}

const apiKeyId = Type.Object({ apiKeyId: Type.String() })

const create = {
  operationId: 'appCreateApiKey',
  summary: 'Create an API key',
  description: 'Allowed on every plan; the plan decides whether keys can call the Developer API.',
  tags,
  body: apiKeyRequest,
  response: memberResponses(201, success('The key, shown this once.', refer(newApiKeySchema)), ['CONFLICT']),
}
const roll = {
  operationId: 'appRollApiKey',
  summary: 'Replace an API key',
  description:
    'The new key has the name, scopes, networks and lifetime of the old one, or the longest lifetime that the team ' +
    'allows. The old key also works during the overlap. A key can be rolled once. `CONFLICT` for a key that was already rolled, was revoked or has expired.',
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
  description: 'Takes effect within 5 seconds. The key stays in the list, as revoked.',
  tags,
  params: apiKeyId,
  response: memberResponses(200, success('The key is revoked.', refer(deletedSchema)), ['NOT_FOUND']),
}

/** Canonical and without duplicates. @throws MatteError INVALID_PARAMS */
function readNetworks(given: readonly string[]): string[] {
  const issues: Issue[] = []
  const networks = given.map((text, index) => {
    try {
      return parseKeyNetwork(text)
    } catch (error) {
      issues.push({ path: `/body/allowedNetworks/${index}`, message: (error as Error).message })
      return text
    }
  })
  if (issues.length > 0) throw invalidParams(issues)
  return [...new Set(networks)]
}

/** Only people manage keys: a key cannot create a key. */
const keyRoutes: FastifyPluginAsyncTypebox<Pick<DeveloperDeps, 'db'>> = async (app, { db }) => {
  const replay = async ({ caller }: FastifyRequest, id: string) =>
    toMemberApiKeyView(await readApiKey(db, caller.workspaceId, id))
  const createConfig = { ...developerCentre, needsProof: true, idempotent: replay } as const

  app.post('/api/v1/app/developer/api-keys', { schema: create, config: createConfig }, async (request, reply) => {
    const { caller, member, body, once } = request
    const { name, expiresAt } = body
    const wanted = {
      workspaceId: caller.workspaceId,
      userId: member.userId,
      name,
      scopes: [...new Set(body.scopes)],
      allowedNetworks: readNetworks(body.allowedNetworks ?? []),
      expiresAt: expiresAt == null ? null : new Date(expiresAt),
      once,
    }
    const { key, ...created } = await commitChange(db, request, (tx) => makeKey(tx, wanted))
    reply.code(201)
    return { ...toMemberApiKeyView(created), key }
  })

  /** Runs before the body is read: an unknown id is reported first. */
  const exists = async ({ caller, params }: FastifyRequest): Promise<void> => {
    await readApiKey(db, caller.workspaceId, normalizeId((params as { apiKeyId: string }).apiKeyId, apiKeyNotFound))
  }
  const rollOptions = { schema: roll, config: createConfig, onRequest: exists }
  app.post('/api/v1/app/developer/api-keys/:apiKeyId/roll', rollOptions, async (request, reply) => {
    const { caller, member, params, body, once } = request
    const wanted = {
      workspaceId: caller.workspaceId,
      userId: member.userId,
      id: normalizeId(params.apiKeyId, apiKeyNotFound),
      overlapSeconds: body.overlapSeconds,
      once,
    }
    const { key, ...created } = await commitChange(db, request, (tx) => rollKey(tx, wanted))
    reply.code(201)
    return { ...toMemberApiKeyView(created), key }
  })

  app.delete(
    '/api/v1/app/developer/api-keys/:apiKeyId',
    { schema: revoke, config: { ...developerCentre, exists } },
    async (request) => {
      const id = normalizeId(request.params.apiKeyId, apiKeyNotFound)
      await commitChange(db, request, (tx) => endApiKey(tx, request.caller.workspaceId, id))
      return { id, deleted: true as const }
    },
  )
}
