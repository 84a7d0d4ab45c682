// Webhook deliveries: lists, redelivery, recovery (D61), and the test event (D68).

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { invalidParam } from '@matte/core/invalid-params'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { countDeliveries, listDeliveries } from '@matte/core/webhook/delivery/list-deliveries'
import { findDelivery } from '@matte/core/webhook/delivery/read-delivery'
import { recoverDeliveries } from '@matte/core/webhook/delivery/recover-deliveries'
import { deliveryNotFound, redeliver } from '@matte/core/webhook/delivery/redeliver'
import { sendSample, sendTest } from '@matte/core/webhook/delivery/send-test'
import { endpointNotFound } from '@matte/core/webhook/endpoint/endpoint'
import { findEndpoint } from '@matte/core/webhook/endpoint/endpoint-queries'
import { eventsOf } from '@matte/core/webhook/event-types'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { auditOf, commitChange } from '../../http/audit.ts'
import { applyPreference, readWaitSeconds } from '../../http/prefer.ts'
import type { AttemptPoll } from '../../long-poll.ts'
import { parseDay, readListQuery, readPage } from '../../paging.ts'
import {
  deliveryQuery,
  deliverySchema,
  recoverRequest,
  recoverySchema,
  sampleRequest,
  toDeliveryView,
} from '../../schemas/delivery.ts'
import { pageOf } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import { isUuid, normalizeId } from '../../uuid.ts'
import type { ApiSurface, Operation, Responses } from './api-surface.ts'

export type DeliveryDeps = {
  readonly surface: ApiSurface
  readonly db: Db
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly attemptPoll: Pick<AttemptPoll, 'wait'>
  /** Longest wait for a test, in seconds, unless the caller prefers less. */
  readonly maxWaitSeconds: number
}

const webhookId = Type.Object({ webhookId: Type.String() })
const page = success('One page.', pageOf(refer(deliverySchema)))

const listSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'List the deliveries of a webhook endpoint, newest first',
  tags,
  params: webhookId,
  querystring: deliveryQuery,
  response: responses(200, page, ['NOT_FOUND']),
})
const callbacksSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'List the deliveries to callback URLs, newest first',
  description: 'A callback URL that equals the target of an endpoint is listed with that endpoint.',
  tags,
  querystring: deliveryQuery,
  response: responses(200, page, []),
})
const redeliverSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Send a delivery again',
  description:
    'Works for delivered, exhausted, paused and pending deliveries. It replaces a pending retry, and the retry ' +
    'schedule starts over; `id` and body stay the same. `CONFLICT` during an attempt and for canceled deliveries.',
  tags,
  params: Type.Object({ deliveryId: Type.String() }),
  response: responses(200, success('The delivery, due now.', refer(deliverySchema)), ['NOT_FOUND', 'CONFLICT']),
})
const recoverSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Send again what failed or was paused in a time range',
  description:
    'Sends exhausted deliveries and deliveries waiting for a retry whose latest attempt ended in the range. Then sends ' +
    'paused deliveries of events in the range, in the order of events. Events and statuses narrow the selection; ' +
    'samples are never sent again. At most 10,000 deliveries per request.',
  tags,
  params: webhookId,
  body: recoverRequest,
  response: responses(200, success('The number of deliveries.', refer(recoverySchema)), ['NOT_FOUND', 'CONFLICT']),
})
const preferHeaders = Type.Object({
  Prefer: Type.Optional(
    Type.String({
      description:
        '`wait=N` waits at most N seconds for the attempt, instead of the limit of the service (25 by default).',
      examples: ['wait=5'],
    }),
  ),
})
const attempted = (responses: Responses) =>
  responses(200, success('The delivery with its attempt.', refer(deliverySchema)), ['NOT_FOUND', 'CONFLICT'])
const testSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Send a test event to a webhook endpoint',
  description:
    'Sends `test.webhook`, signed and delivered like any event. The response has the recorded attempt in `attempts`; ' +
    'if there is none by then, the delivery is `pending` and is sent as soon as a dispatcher is available. A failed ' +
    'test is retried like any event, until the next test replaces it.',
  tags,
  params: webhookId,
  headers: preferHeaders,
  response: attempted(responses),
})
const sampleSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Send a sample of an event to a webhook endpoint',
  description:
    'Sends the event with example values and nil ids, signed and delivered like any event, with the header ' +
    '`X-Matte-Sample: true`. The endpoint need not subscribe to it. The response has the recorded attempt, as for a ' +
    'test. A failed sample is retried like any event, until the next sample replaces it.',
  tags,
  params: webhookId,
  headers: preferHeaders,
  body: sampleRequest,
  response: attempted(responses),
})

export const deliveryRoutes: FastifyPluginAsyncTypebox<DeliveryDeps> = async (app, deps) => {
  const { db, nudge, surface } = deps
  const { responses } = surface
  const { listWebhookDeliveries, listCallbackDeliveries, redeliverWebhook, recoverWebhook, ...requested } =
    surface.operations
  const { testWebhook, sendWebhookSample } = requested
  const endpointIdOf = ({ webhookId }: { webhookId: string }) => normalizeId(webhookId, endpointNotFound)
  /** Runs before query and body are validated: an unknown id is reported first. */
  const exists = async ({ caller, params }: FastifyRequest): Promise<void> => {
    const id = endpointIdOf(params as { webhookId: string })
    if ((await findEndpoint(db, caller.workspaceId, id)) === undefined) throw endpointNotFound()
  }

  const listConfig = { access: listWebhookDeliveries.access }
  const listOptions = { schema: listSchema(listWebhookDeliveries, responses), config: listConfig, onRequest: exists }
  app.get(listWebhookDeliveries.url, listOptions, async ({ caller, params, query }) =>
    readDeliveries(db, { workspaceId: caller.workspaceId, endpointId: endpointIdOf(params) }, query),
  )

  const callbacksConfig = { access: listCallbackDeliveries.access }
  const callbacksOptions = { schema: callbacksSchema(listCallbackDeliveries, responses), config: callbacksConfig }
  app.get(listCallbackDeliveries.url, callbacksOptions, async ({ caller, query }) =>
    readDeliveries(db, { workspaceId: caller.workspaceId, endpointId: null }, query),
  )

  const redeliverConfig = { access: redeliverWebhook.access }
  const redeliverOptions = { schema: redeliverSchema(redeliverWebhook, responses), config: redeliverConfig }
  app.post(redeliverWebhook.url, redeliverOptions, async (request) => {
    const { caller, params } = request
    if (!isUuid(params.deliveryId)) throw deliveryNotFound()
    const delivery = await commitChange(db, request, (tx) =>
      redeliver(tx, { workspaceId: caller.workspaceId, id: params.deliveryId }),
    )
    nudge.delivery(delivery.id)
    return toDeliveryView(delivery)
  })

  const recoverConfig = { access: recoverWebhook.access }
  const recoverOptions = { schema: recoverSchema(recoverWebhook, responses), config: recoverConfig, onRequest: exists }
  app.post(recoverWebhook.url, recoverOptions, async (request) => {
    const { caller, params, body } = request
    const { since, until } = readRange(body)
    const { dryRun, eventTypes, statuses } = body
    const { count, more, id } = await recoverDeliveries(db, {
      workspaceId: caller.workspaceId,
      endpointId: endpointIdOf(params),
      ...{ since, until, statuses: statuses ?? undefined, dryRun },
      events: eventTypes?.length ? eventsOf(eventTypes) : undefined,
      audit: auditOf(request),
    })
    if (id !== undefined) nudge.delivery(id)
    return { since: since.toISOString(), until: until?.toISOString() ?? null, dryRun, count, more }
  })

  const testOptions = { schema: testSchema(testWebhook, responses), config: { access: testWebhook.access } }
  app.post(testWebhook.url, testOptions, async (request, reply) => {
    const { workspaceId } = request.caller
    const traceparent = currentTraceparent() ?? null
    const test = { workspaceId, endpointId: endpointIdOf(request.params), traceparent }
    const id = await commitChange(db, request, (tx) => sendTest(tx, test))
    return answerAttempt(deps, id, { request: request as FastifyRequest, reply })
  })

  const sampleConfig = { access: sendWebhookSample.access }
  const sampleOptions = { schema: sampleSchema(sendWebhookSample, responses), config: sampleConfig, onRequest: exists }
  app.post(sendWebhookSample.url, sampleOptions, async (request, reply) => {
    const { workspaceId } = request.caller
    const traceparent = currentTraceparent() ?? null
    const { event } = request.body
    const sample = { workspaceId, endpointId: endpointIdOf(request.params), traceparent, event }
    const id = await commitChange(db, request, (tx) => sendSample(tx, sample))
    return answerAttempt(deps, id, { request: request as FastifyRequest, reply })
  })
}

/** @throws MatteError INVALID_PARAMS */
function readRange(body: Static<typeof recoverRequest>): { since: Date; until: Date | undefined } {
  const since = parseDay(body.since)?.from
  const until = body.until == null ? undefined : parseDay(body.until)?.before
  const form = 'must be a date, YYYY-MM-DD, or an ISO 8601 timestamp'
  if (since === undefined) throw invalidParam('/body/since', form)
  if (body.until != null && until === undefined) throw invalidParam('/body/until', form)
  if (until !== undefined && until <= since) throw invalidParam('/body/until', 'must not be before since')
  return { since, until }
}

/** The delivery with its attempt, or as it is when the wait ends. */
async function answerAttempt(deps: DeliveryDeps, id: string, exchange: Exchange) {
  const { db, nudge } = deps
  nudge.delivery(id)
  const attempted = await waitForAttempt(deps, id, exchange)
  const delivery = attempted ?? (await findDelivery(db, exchange.request.caller.workspaceId, id))
  if (delivery === undefined) throw deliveryNotFound() // the workspace was deleted in the meantime
  return toDeliveryView(delivery)
}

type Source = { readonly workspaceId: string; readonly endpointId: string | null }

async function readDeliveries(db: Db, source: Source, query: Static<typeof deliveryQuery>) {
  const { status, event, ...paging } = query
  const { from, before, ...page } = readListQuery(paging)
  const filter = { ...source, status, event, from, before }
  return readPage(page, {
    read: (range) => Promise.all([listDeliveries(db, filter, range), range.total ?? countDeliveries(db, filter)]),
    micros: (row) => row.created_at_micros,
    view: toDeliveryView,
  })
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/** Waits for the dispatcher to record the attempt; this process sends nothing. */
async function waitForAttempt({ attemptPoll, maxWaitSeconds }: DeliveryDeps, id: string, { request, reply }: Exchange) {
  const preferred = readWaitSeconds(request.headers.prefer)
  const seconds = Math.min(preferred ?? maxWaitSeconds, maxWaitSeconds)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  request.releaseSlot()
  const { holders } = request
  const attempted = await attemptPoll.wait(id, { waitMs: seconds * 1_000, signal: gone.signal, holders })
  if (preferred !== undefined && attempted !== null) applyPreference(reply, `wait=${seconds}`)
  return attempted
}
