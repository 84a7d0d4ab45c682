// Webhook endpoints as resources (D60, D61); what is sent to them is the dispatcher's.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { invalidParams } from '@matte/core/invalid-params'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Settings } from '@matte/core/setting/setting'
import { changeEndpoint, createEndpoint, deleteEndpoint, endpointNotFound } from '@matte/core/webhook/endpoint/endpoint'
import { type Maker, readMakers } from '@matte/core/webhook/endpoint/endpoint-maker'
import { type EndpointRow, findEndpoint, listEndpoints } from '@matte/core/webhook/endpoint/endpoint-queries'
import { rotateEndpointSecret } from '@matte/core/webhook/endpoint/endpoint-secret'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { pageOf } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import {
  deletedSchema,
  newWebhookEndpointSchema,
  rotatedWebhookEndpointSchema,
  rotateRequest,
  webhookEndpointSchema,
  webhookPatch,
  webhookRequest,
} from '../../schemas/webhook.ts'
import { toWebhookView } from '../../views/webhook-view.ts'
import { toWholeList } from '../../views/whole-list.ts'
import type { Front } from '../task/front.ts'
import { judgeTarget } from '../task/request-checks.ts'
import { ownForm } from './own-form.ts'

export type EndpointDeps = {
  readonly front: Front
  readonly db: Db
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly masterKeys: MasterKeys
  readonly settings: { current(): Settings }
  readonly deniedNetworks: readonly string[]
}

const webhookId = Type.Object({ webhookId: Type.String() })

const schemasOf = ({ tags, responses, operationId }: Front) => ({
  create: {
    operationId: operationId('createWebhook'),
    summary: 'Create a webhook endpoint',
    tags: tags.webhooks,
    body: webhookRequest,
    response: responses(201, success('The endpoint with its secret.', refer(newWebhookEndpointSchema)), [
      'CONFLICT',
      'NOT_FOUND', // on a replay, once the endpoint is deleted
    ]),
  },
  list: {
    operationId: operationId('listWebhooks'),
    summary: 'List your webhook endpoints, newest first',
    description: 'All of them, on one page.',
    tags: tags.webhooks,
    response: responses(200, success('All endpoints.', pageOf(refer(webhookEndpointSchema))), []),
  },
  get: {
    operationId: operationId('getWebhook'),
    summary: 'Get a webhook endpoint',
    tags: tags.webhooks,
    params: webhookId,
    response: responses(200, success('The endpoint.', refer(webhookEndpointSchema)), ['NOT_FOUND']),
  },
  patch: {
    operationId: operationId('updateWebhook'),
    summary: 'Change a webhook endpoint',
    description:
      'What is absent stays. Deliveries that wait go to the new target; those of an endpoint that is disabled ' +
      'are paused, and later events as well. Once it is enabled again, recover with `since`, the `pausedSince` of ' +
      'the answer, sends all of them in the order of their events.',
    tags: tags.webhooks,
    params: webhookId,
    body: webhookPatch,
    response: responses(200, success('The endpoint, changed.', refer(webhookEndpointSchema)), ['NOT_FOUND']),
  },
  delete: {
    operationId: operationId('deleteWebhook'),
    summary: 'Delete a webhook endpoint',
    description: 'Deliveries that wait for it are canceled; paused ones cannot be recovered any more.',
    tags: tags.webhooks,
    params: webhookId,
    response: responses(200, success('It is deleted.', refer(deletedSchema)), ['NOT_FOUND']),
  },
  rotate: {
    operationId: operationId('rotateWebhookSecret'),
    summary: 'Give a webhook endpoint a new signing secret',
    description:
      'While the secrets overlap, `X-Service-Signature` is keyed by the one before, and `webhook-signature` carries ' +
      'both.',
    tags: tags.webhooks,
    params: webhookId,
    body: rotateRequest,
    response: responses(200, success('The endpoint with its new secret.', refer(rotatedWebhookEndpointSchema)), [
      'NOT_FOUND',
    ]),
  },
})

export const endpointRoutes: FastifyPluginAsyncTypebox<EndpointDeps> = async (app, deps) => {
  await collectionRoutes(app, deps)
  await singleRoutes(app, deps)
}

const collectionRoutes: FastifyPluginAsyncTypebox<EndpointDeps> = async (app, deps) => {
  const { db, nudge, masterKeys, front } = deps
  const schemas = schemasOf(front)
  const { toViews, toView } = endpointViews(deps)
  const replay = async ({ caller }: FastifyRequest, id: string) => toView(await findOwn(db, caller.workspaceId, id))
  const createConfig = { access: front.access.writeWebhooks, idempotent: replay } as const

  app.post('/webhooks', { schema: schemas.create, config: createConfig }, async (request, reply) => {
    const { targetUrl, eventTypes, description } = request.body
    const { signingSecret, welcomed, ...endpoint } = await createEndpoint(db, masterKeys, {
      workspaceId: request.caller.workspaceId,
      maker: makerOf(request as FastifyRequest),
      targetUrl,
      url: await readTarget(targetUrl, deps),
      eventTypes,
      description: description || null,
      once: request.once,
    })
    if (welcomed) nudge.delivery(endpoint.id)
    reply.code(201)
    return { ...(await toView(endpoint)), signingSecret }
  })

  app.get('/webhooks', { schema: schemas.list, config: { access: front.access.readWebhooks } }, async ({ caller }) => {
    return toWholeList(await toViews(await listEndpoints(db, caller.workspaceId)))
  })
}

const singleRoutes: FastifyPluginAsyncTypebox<EndpointDeps> = async (app, deps) => {
  const { db, nudge, masterKeys, front } = deps
  const [read, write] = [{ access: front.access.readWebhooks }, { access: front.access.writeWebhooks }]
  const schemas = schemasOf(front)
  const { toView } = endpointViews(deps)
  /** The id is judged before the body (D4), so this runs before the body is read. */
  const exists = async (request: FastifyRequest): Promise<void> => {
    await findOwn(db, request.caller.workspaceId, (request.params as { webhookId: string }).webhookId)
  }
  app.get('/webhooks/:webhookId', { schema: schemas.get, config: { ...read, exists } }, async ({ caller, params }) =>
    toView(await findOwn(db, caller.workspaceId, params.webhookId)),
  )

  const patchOptions = { schema: schemas.patch, config: write, onRequest: exists }
  app.patch('/webhooks/:webhookId', patchOptions, async ({ caller, params, body }) => {
    const { targetUrl, eventTypes, status, description } = body
    const { welcomed, ...endpoint } = await changeEndpoint(
      db,
      { workspaceId: caller.workspaceId, id: params.webhookId },
      {
        target: targetUrl == null ? undefined : { targetUrl, url: await readTarget(targetUrl, deps) },
        eventTypes: eventTypes ?? undefined,
        status: status ?? undefined,
        description: description === '' ? null : (description ?? undefined),
      },
    )
    if (welcomed) nudge.delivery(endpoint.id)
    return toView(endpoint)
  })

  app.delete(
    '/webhooks/:webhookId',
    { schema: schemas.delete, config: { ...write, exists } },
    async ({ caller, params }) => {
      const id = ownForm(params.webhookId)
      await deleteEndpoint(db, caller.workspaceId, id)
      return { id, deleted: true as const }
    },
  )

  const rotateOptions = { schema: schemas.rotate, config: write, onRequest: exists }
  app.post('/webhooks/:webhookId/rotate-secret', rotateOptions, async ({ caller, params, body }) => {
    const { previousUntil, signingSecret, ...endpoint } = await rotateEndpointSecret(db, masterKeys, {
      workspaceId: caller.workspaceId,
      id: ownForm(params.webhookId),
      overlapSeconds: body.overlapSeconds,
    })
    return {
      ...(await toView(endpoint)),
      signingSecret,
      previousSecretExpiresAt: previousUntil?.toISOString() ?? null,
    }
  })
}

/** The credential that makes an endpoint. */
function makerOf({ caller, member }: FastifyRequest): Maker {
  return caller.apiKeyId === undefined ? { userId: member.userId } : { apiKeyId: caller.apiKeyId }
}

/** Endpoints as the surface shows them: the App API names their makers. */
function endpointViews({ db, front }: Pick<EndpointDeps, 'db' | 'front'>) {
  const toViews = async (endpoints: readonly EndpointRow[]) => {
    if (!front.showMakers) return endpoints.map((endpoint) => toWebhookView(endpoint))
    const ids = endpoints.map(({ id }) => id)
    const makers = await readMakers(db, ids)
    return endpoints.map((endpoint) => toWebhookView(endpoint, makers.get(endpoint.id) ?? null))
  }
  const toView = async (endpoint: EndpointRow) => {
    const makers = front.showMakers ? await readMakers(db, [endpoint.id]) : undefined
    return toWebhookView(endpoint, makers && (makers.get(endpoint.id) ?? null))
  }
  return { toViews, toView }
}

/** @throws MatteError NOT_FOUND, for another workspace's too */
async function findOwn(db: Db, workspaceId: string, id: string): Promise<EndpointRow> {
  const endpoint = await findEndpoint(db, workspaceId, ownForm(id))
  if (endpoint === undefined) throw endpointNotFound()
  return endpoint
}

/** @throws MatteError INVALID_PARAMS when nothing may be sent there (D66) */
async function readTarget(targetUrl: string, { settings, deniedNetworks }: EndpointDeps): Promise<URL> {
  const { allowedTargets } = settings.current()
  const issue = await judgeTarget('/body/targetUrl', targetUrl, { allowedTargets, deniedNetworks })
  if (issue === undefined) return new URL(targetUrl)
  throw invalidParams([issue])
}
