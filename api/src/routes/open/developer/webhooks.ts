// Webhook endpoints as resources (D60, D61); what is sent to them is the dispatcher's.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { invalidParams } from '@matte/core/invalid-params'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Settings } from '@matte/core/setting/setting-queries'
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  endpointNotFound,
  endpointsMax,
} from '@matte/core/webhook/endpoint/endpoint'
import { type EndpointRow, findEndpoint, listEndpoints } from '@matte/core/webhook/endpoint/endpoint-queries'
import { rotateEndpointSecret } from '@matte/core/webhook/endpoint/endpoint-secret'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { pageOf } from '../../../schemas/page.ts'
import { refer, responses, success } from '../../../schemas/schema.ts'
import {
  deletedSchema,
  newWebhookEndpointSchema,
  rotatedWebhookEndpointSchema,
  rotateRequest,
  webhookEndpointSchema,
  webhookPatch,
  webhookRequest,
} from '../../../schemas/webhook.ts'
import { isUuid } from '../../../uuid.ts'
import { toWebhookView } from '../../../views/webhook-view.ts'
import { toWholeList } from '../../../views/whole-list.ts'
import { judgeTarget } from '../../task/request-checks.ts'

type WebhookDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly settings: { current(): Settings }
  readonly deniedNetworks: readonly string[]
}

const tags = ['Webhooks']
const webhookId = Type.Object({ webhookId: Type.String() })
/** A day (D63). */
const overlapSecondsDefault = 86_400

const createSchema = {
  operationId: 'createWebhook',
  summary: 'Create a webhook endpoint',
  tags,
  body: webhookRequest,
  response: responses(201, success('The endpoint with its secret.', refer(newWebhookEndpointSchema)), [
    'CONFLICT',
    'NOT_FOUND', // on a replay, once the endpoint is deleted
  ]),
}
const listSchema = {
  operationId: 'listWebhooks',
  summary: 'List your webhook endpoints, newest first',
  description: 'All of them, on one page.',
  tags,
  response: responses(200, success('All endpoints.', pageOf(refer(webhookEndpointSchema))), []),
}
const getSchema = {
  operationId: 'getWebhook',
  summary: 'Get a webhook endpoint',
  tags,
  params: webhookId,
  response: responses(200, success('The endpoint.', refer(webhookEndpointSchema)), ['NOT_FOUND']),
}
const patchSchema = {
  operationId: 'updateWebhook',
  summary: 'Change a webhook endpoint',
  description:
    'What is absent stays. Deliveries that wait go to the new target; those of an endpoint that is disabled ' +
    'are canceled.',
  tags,
  params: webhookId,
  body: webhookPatch,
  response: responses(200, success('The endpoint, changed.', refer(webhookEndpointSchema)), ['NOT_FOUND']),
}
const deleteSchema = {
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook endpoint',
  description: 'Deliveries that wait for it are canceled.',
  tags,
  params: webhookId,
  response: responses(200, success('It is deleted.', refer(deletedSchema)), ['NOT_FOUND']),
}
const rotateSchema = {
  operationId: 'rotateWebhookSecret',
  summary: 'Give a webhook endpoint a new signing secret',
  description:
    'While the secrets overlap, `X-Service-Signature` is keyed by the one before and `webhook-signature` carries both.',
  tags,
  params: webhookId,
  body: rotateRequest,
  response: responses(200, success('The endpoint with its new secret.', refer(rotatedWebhookEndpointSchema)), [
    'NOT_FOUND',
  ]),
}

export const webhookRoutes: FastifyPluginAsyncTypebox<WebhookDeps> = async (app, deps) => {
  await collectionRoutes(app, deps)
  await endpointRoutes(app, deps)
}

const read = { access: { scope: 'webhooks:read' } } as const
const write = { access: { scope: 'webhooks:write' } } as const

const collectionRoutes: FastifyPluginAsyncTypebox<WebhookDeps> = async (app, deps) => {
  const { db, masterKeys } = deps
  const replay = async ({ caller }: FastifyRequest, id: string) =>
    toWebhookView(await findOwn(db, caller.workspaceId, id))
  const createConfig = { ...write, idempotent: replay } as const

  app.post('/webhooks', { schema: createSchema, config: createConfig }, async (request, reply) => {
    const { targetUrl, eventTypes, description } = request.body
    const { signingSecret, ...endpoint } = await createEndpoint(db, masterKeys, {
      workspaceId: request.caller.workspaceId,
      targetUrl,
      url: await readTarget(targetUrl, deps),
      eventTypes: eventTypes ?? [],
      description: description || null,
      once: request.once,
    })
    reply.code(201)
    return { ...toWebhookView(endpoint), signingSecret }
  })

  app.get('/webhooks', { schema: listSchema, config: read }, async ({ caller }) => {
    const endpoints = await listEndpoints(db, caller.workspaceId)
    return toWholeList(endpoints.map(toWebhookView), endpointsMax)
  })
}

const endpointRoutes: FastifyPluginAsyncTypebox<WebhookDeps> = async (app, deps) => {
  const { db, masterKeys } = deps
  /** The id is judged before the body (D4), so this runs before the body is read. */
  const exists = async (request: FastifyRequest): Promise<void> => {
    await findOwn(db, request.caller.workspaceId, (request.params as { webhookId: string }).webhookId)
  }
  app.get('/webhooks/:webhookId', { schema: getSchema, config: { ...read, exists } }, async ({ caller, params }) =>
    toWebhookView(await findOwn(db, caller.workspaceId, params.webhookId)),
  )

  const patchOptions = { schema: patchSchema, config: write, onRequest: exists }
  app.patch('/webhooks/:webhookId', patchOptions, async ({ caller, params, body }) => {
    const { targetUrl, eventTypes, status, description } = body
    const endpoint = await changeEndpoint(
      db,
      { workspaceId: caller.workspaceId, id: params.webhookId },
      {
        target: targetUrl == null ? undefined : { targetUrl, url: await readTarget(targetUrl, deps) },
        eventTypes: eventTypes ?? undefined,
        status: status ?? undefined,
        description: description === '' ? null : (description ?? undefined),
      },
    )
    return toWebhookView(endpoint)
  })

  app.delete(
    '/webhooks/:webhookId',
    { schema: deleteSchema, config: { ...write, exists } },
    async ({ caller, params }) => {
      const id = ownForm(params.webhookId)
      await deleteEndpoint(db, caller.workspaceId, id)
      return { id, deleted: true as const }
    },
  )

  const rotateOptions = { schema: rotateSchema, config: write, onRequest: exists }
  app.post('/webhooks/:webhookId/rotate-secret', rotateOptions, async ({ caller, params, body }) => {
    const { previousUntil, signingSecret, ...endpoint } = await rotateEndpointSecret(db, masterKeys, {
      workspaceId: caller.workspaceId,
      id: ownForm(params.webhookId),
      overlapSeconds: body.overlapSeconds ?? overlapSecondsDefault,
    })
    return {
      ...toWebhookView(endpoint),
      signingSecret,
      previousSecretExpiresAt: previousUntil?.toISOString() ?? null,
    }
  })
}

/** @throws MatteError NOT_FOUND, for another workspace's too */
async function findOwn(db: Db, workspaceId: string, id: string): Promise<EndpointRow> {
  const endpoint = await findEndpoint(db, workspaceId, ownForm(id))
  if (endpoint === undefined) throw endpointNotFound()
  return endpoint
}

/** The id as rows have it. @throws MatteError NOT_FOUND when it is no UUID (D3) */
function ownForm(id: string): string {
  if (!isUuid(id)) throw endpointNotFound()
  return id.toLowerCase()
}

/** @throws MatteError INVALID_PARAMS when nothing may be sent there (D66) */
async function readTarget(targetUrl: string, { settings, deniedNetworks }: WebhookDeps): Promise<URL> {
  const { allowedTargets } = settings.current()
  const issue = await judgeTarget('/body/targetUrl', targetUrl, { allowedTargets, deniedNetworks })
  if (issue === undefined) return new URL(targetUrl)
  throw invalidParams([issue])
}
