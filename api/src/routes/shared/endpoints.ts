// Webhook endpoints. The dispatcher sends to them.

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
import { findHeaderIssue, type HeaderChanges } from '@matte/core/webhook/endpoint/own-headers'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { escapePointer } from '../../errors/issues.ts'
import { auditOf, commitChange } from '../../http/audit.ts'
import { toWholeList } from '../../paging.ts'
import { pageOf } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import {
  deletedSchema,
  newWebhookEndpointSchema,
  rotatedWebhookEndpointSchema,
  rotateRequest,
  toWebhookView,
  webhookEndpointSchema,
  webhookPatch,
  webhookRequest,
} from '../../schemas/webhook.ts'
import { normalizeId } from '../../uuid.ts'
import { type ApiSurface, configOf, type Operation, type Responses } from './api-surface.ts'
import { findTargetIssue } from './task-request.ts'

export type EndpointDeps = {
  readonly surface: ApiSurface
  readonly db: Db
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly masterKeys: MasterKeys
  readonly settings: { current(): Settings }
  readonly deniedNetworks: readonly string[]
}

/** Characters of a refused header's name in an error. */
const shownNameMax = 64

const webhookId = Type.Object({ webhookId: Type.String() })

const createSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Create a webhook endpoint',
  tags,
  body: webhookRequest,
  response: responses(201, success('The endpoint with its secret.', refer(newWebhookEndpointSchema)), [
    'CONFLICT',
    'NOT_FOUND', // on a replay, once the endpoint is deleted
  ]),
})
const listSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'List your webhook endpoints, newest first',
  description: 'One page with all of them.',
  tags,
  response: responses(200, success('All endpoints.', pageOf(refer(webhookEndpointSchema))), []),
})
const getSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get a webhook endpoint',
  tags,
  params: webhookId,
  response: responses(200, success('The endpoint.', refer(webhookEndpointSchema)), ['NOT_FOUND']),
})
const patchSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Change a webhook endpoint',
  description:
    'Absent fields stay as they are. Pending deliveries go to the new target. Disabling an endpoint pauses its ' +
    'deliveries and later events. After enabling it again, recover with `since` set to `pausedSince` of the response ' +
    'sends all of them in the order of their events.',
  tags,
  params: webhookId,
  body: webhookPatch,
  response: responses(200, success('The endpoint, changed.', refer(webhookEndpointSchema)), ['NOT_FOUND']),
})
const deleteSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Delete a webhook endpoint',
  description: 'Pending deliveries are canceled; paused ones can no longer be recovered.',
  tags,
  params: webhookId,
  response: responses(200, success('The endpoint is deleted.', refer(deletedSchema)), ['NOT_FOUND']),
})
const rotateSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Rotate the signing secret of a webhook endpoint',
  description:
    'During the overlap, `X-Service-Signature` uses the previous secret and `webhook-signature` carries both signatures.',
  tags,
  params: webhookId,
  body: rotateRequest,
  response: responses(200, success('The endpoint with its new secret.', refer(rotatedWebhookEndpointSchema)), [
    'NOT_FOUND',
  ]),
})

export const endpointRoutes: FastifyPluginAsyncTypebox<EndpointDeps> = async (app, deps) => {
  const { db, nudge, masterKeys, surface } = deps
  const { responses } = surface
  const { createWebhook, listWebhooks, getWebhook, updateWebhook, deleteWebhook, rotateWebhookSecret } =
    surface.operations
  /** The App API names the creators. */
  const toViews = async (endpoints: readonly EndpointRow[]) => {
    if (!surface.showMakers) return endpoints.map((endpoint) => toWebhookView(endpoint))
    const ids = endpoints.map(({ id }) => id)
    const makers = await readMakers(db, ids)
    return endpoints.map((endpoint) => toWebhookView(endpoint, makers.get(endpoint.id) ?? null))
  }
  const toView = async (endpoint: EndpointRow) => {
    const makers = surface.showMakers ? await readMakers(db, [endpoint.id]) : undefined
    return toWebhookView(endpoint, makers && (makers.get(endpoint.id) ?? null))
  }
  const replay = async ({ caller }: FastifyRequest, id: string) => toView(await findOwn(db, caller.workspaceId, id))
  /** Runs before the body is read: an unknown id is reported first. */
  const exists = async (request: FastifyRequest): Promise<void> => {
    await findOwn(db, request.caller.workspaceId, (request.params as { webhookId: string }).webhookId)
  }

  const createConfig = { ...configOf(createWebhook), idempotent: replay }
  const createOptions = { schema: createSchema(createWebhook, responses), config: createConfig }
  app.post(createWebhook.url, createOptions, async (request, reply) => {
    const { targetUrl, eventTypes, description } = request.body
    const headers = readHeaders(request.body.headers)
    const wanted = {
      workspaceId: request.caller.workspaceId,
      maker: makerOf(request as FastifyRequest),
      targetUrl,
      url: readTarget(targetUrl, deps),
      eventTypes,
      description: description || null,
      headers,
      once: request.once,
    }
    const { signingSecret, welcomed, ...endpoint } = await commitChange(db, request, (tx) =>
      createEndpoint(tx, masterKeys, wanted),
    )
    if (welcomed) nudge.delivery(endpoint.id)
    reply.code(201)
    return { ...(await toView(endpoint)), signingSecret }
  })

  const listOptions = { schema: listSchema(listWebhooks, responses), config: { access: listWebhooks.access } }
  app.get(listWebhooks.url, listOptions, async ({ caller }) =>
    toWholeList(await toViews(await listEndpoints(db, caller.workspaceId))),
  )

  const getOptions = { schema: getSchema(getWebhook, responses), config: { access: getWebhook.access, exists } }
  app.get(getWebhook.url, getOptions, async ({ caller, params }) =>
    toView(await findOwn(db, caller.workspaceId, params.webhookId)),
  )

  const patchConfig = configOf(updateWebhook)
  const patchOptions = { schema: patchSchema(updateWebhook, responses), config: patchConfig, onRequest: exists }
  app.patch(updateWebhook.url, patchOptions, async (request) => {
    const { caller, params, body } = request
    const { targetUrl, eventTypes, status, description } = body
    const changes = readHeaders(body.headers)
    const { welcomed, ...endpoint } = await changeEndpoint(
      db,
      { workspaceId: caller.workspaceId, id: params.webhookId },
      {
        target: targetUrl == null ? undefined : { targetUrl, url: readTarget(targetUrl, deps) },
        eventTypes: eventTypes ?? undefined,
        status: status ?? undefined,
        description: description === '' ? null : (description ?? undefined),
        headers: changes && { keys: masterKeys, changes },
        audit: auditOf(request),
      },
    )
    if (welcomed) nudge.delivery(endpoint.id)
    return toView(endpoint)
  })

  const deleteConfig = { access: deleteWebhook.access, exists }
  const deleteOptions = { schema: deleteSchema(deleteWebhook, responses), config: deleteConfig }
  app.delete(deleteWebhook.url, deleteOptions, async (request) => {
    const { caller, params } = request
    const id = normalizeId(params.webhookId, endpointNotFound)
    await deleteEndpoint(db, { workspaceId: caller.workspaceId, id, audit: auditOf(request) })
    return { id, deleted: true as const }
  })

  const rotateConfig = configOf(rotateWebhookSecret)
  const rotateOptions = {
    schema: rotateSchema(rotateWebhookSecret, responses),
    config: rotateConfig,
    onRequest: exists,
  }
  app.post(rotateWebhookSecret.url, rotateOptions, async (request) => {
    const { caller, params, body } = request
    const { previousUntil, signingSecret, ...endpoint } = await commitChange(db, request, (tx) =>
      rotateEndpointSecret(tx, masterKeys, {
        workspaceId: caller.workspaceId,
        id: normalizeId(params.webhookId, endpointNotFound),
        overlapSeconds: body.overlapSeconds,
      }),
    )
    const previousSecretExpiresAt = previousUntil?.toISOString() ?? null
    return { ...(await toView(endpoint)), signingSecret, previousSecretExpiresAt }
  })
}

function makerOf({ caller, member }: FastifyRequest): Maker {
  return caller.apiKeyId === undefined ? { userId: member.userId } : { apiKeyId: caller.apiKeyId }
}

/** @throws MatteError INVALID_PARAMS naming each refused header */
function readHeaders(changes: HeaderChanges | null | undefined): HeaderChanges | undefined {
  const issues = Object.entries(changes ?? {}).flatMap(([name, value]) => {
    const message = findHeaderIssue(name, value)
    return message === undefined
      ? []
      : [{ path: `/body/headers/${escapePointer(name.slice(0, shownNameMax))}`, message }]
  })
  if (issues.length > 0) throw invalidParams(issues)
  return changes ?? undefined
}

/** @throws MatteError NOT_FOUND, also for an endpoint of another workspace */
async function findOwn(db: Db, workspaceId: string, id: string): Promise<EndpointRow> {
  const endpoint = await findEndpoint(db, workspaceId, normalizeId(id, endpointNotFound))
  if (endpoint === undefined) throw endpointNotFound()
  return endpoint
}

/** @throws MatteError INVALID_PARAMS when the target must not be called */
function readTarget(targetUrl: string, { settings, deniedNetworks }: EndpointDeps): URL {
  const { allowedTargets } = settings.current()
  const issue = findTargetIssue('/body/targetUrl', targetUrl, { allowedTargets, deniedNetworks })
  if (issue === undefined) return new URL(targetUrl)
  throw invalidParams([issue])
}
