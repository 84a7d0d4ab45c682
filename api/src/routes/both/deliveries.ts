// What was sent, to an endpoint or to callback URLs, and having it sent again (D61).
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { invalidParam } from '@matte/core/invalid-params'
import { countDeliveries, listDeliveries } from '@matte/core/webhook/delivery/list-deliveries'
import { recoverDeliveries } from '@matte/core/webhook/delivery/recover-deliveries'
import { deliveryNotFound, redeliver } from '@matte/core/webhook/delivery/redeliver'
import { endpointNotFound } from '@matte/core/webhook/endpoint/endpoint'
import { findEndpoint } from '@matte/core/webhook/endpoint/endpoint-queries'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { deliveryQuery, deliverySchema, recoverRequest, recoverySchema } from '../../schemas/delivery.ts'
import { pageOf } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import { isUuid } from '../../uuid.ts'
import { toDeliveryView } from '../../views/delivery-view.ts'
import { buildPage, parseDay, readTaskQuery } from '../../views/task-page.ts'
import type { Front } from '../task/front.ts'
import { ownForm } from './own-form.ts'

export type DeliveryDeps = { readonly front: Front; readonly db: Db; readonly nudge: Pick<Nudge, 'delivery'> }

const webhookId = Type.Object({ webhookId: Type.String() })
const deliveryId = Type.Object({ deliveryId: Type.String() })
const page = () => success('One page.', pageOf(refer(deliverySchema)))

const schemasOf = ({ tags, responses, operationId }: Front) => ({
  list: {
    operationId: operationId('listWebhookDeliveries'),
    summary: 'List what was sent to a webhook endpoint, newest first',
    tags: tags.webhooks,
    params: webhookId,
    querystring: deliveryQuery,
    response: responses(200, page(), ['NOT_FOUND']),
  },
  callbacks: {
    operationId: operationId('listCallbackDeliveries'),
    summary: 'List what was sent to callback URLs, newest first',
    description: 'A callback that equals the target of an endpoint is listed with that endpoint.',
    tags: tags.webhooks,
    querystring: deliveryQuery,
    response: responses(200, page(), []),
  },
  redeliver: {
    operationId: operationId('redeliverWebhook'),
    summary: 'Send a delivery again',
    description:
      'Whether it was delivered, is exhausted or paused, or waits for a retry, which this takes the place of. The ' +
      'retry schedule begins again; `id` and body stay. `CONFLICT` while an attempt is being made, and for what is ' +
      'canceled.',
    tags: tags.webhooks,
    params: deliveryId,
    response: responses(200, success('The delivery, due now.', refer(deliverySchema)), ['NOT_FOUND', 'CONFLICT']),
  },
  recover: {
    operationId: operationId('recoverWebhook'),
    summary: 'Send everything again that has failed or was paused since a time',
    description:
      'What is exhausted, and what waits for a retry, if its latest attempt ended at that time or later; then what ' +
      'is paused, if its event happened at that time or later, in the order of events. At most 10,000 deliveries a ' +
      'request.',
    tags: tags.webhooks,
    params: webhookId,
    body: recoverRequest,
    response: responses(200, success('How many.', refer(recoverySchema)), ['NOT_FOUND', 'CONFLICT']),
  },
})

export const deliveryRoutes: FastifyPluginAsyncTypebox<DeliveryDeps> = async (app, { db, nudge, front }) => {
  const schemas = schemasOf(front)
  const [read, write] = [{ access: front.access.readWebhooks }, { access: front.access.writeWebhooks }]
  const exists = async ({ caller, params }: FastifyRequest): Promise<void> => {
    const { webhookId } = params as { webhookId: string }
    if ((await findEndpoint(db, caller.workspaceId, ownForm(webhookId))) === undefined) throw endpointNotFound()
  }

  // Before the query and the body are judged (D4).
  const listOptions = { schema: schemas.list, config: read, onRequest: exists }
  app.get('/webhooks/:webhookId/deliveries', listOptions, async ({ caller, params, query }) =>
    readPage(db, { workspaceId: caller.workspaceId, endpointId: ownForm(params.webhookId) }, query),
  )

  app.get('/webhooks/callback-deliveries', { schema: schemas.callbacks, config: read }, async ({ caller, query }) =>
    readPage(db, { workspaceId: caller.workspaceId, endpointId: null }, query),
  )

  const redeliverOptions = { schema: schemas.redeliver, config: write }
  app.post('/webhooks/deliveries/:deliveryId/redeliver', redeliverOptions, async ({ caller, params }) => {
    if (!isUuid(params.deliveryId)) throw deliveryNotFound()
    const delivery = await redeliver(db, { workspaceId: caller.workspaceId, id: params.deliveryId })
    nudge.delivery(delivery.id)
    return toDeliveryView(delivery)
  })

  const recoverOptions = { schema: schemas.recover, config: write, onRequest: exists }
  app.post('/webhooks/:webhookId/recover', recoverOptions, async ({ caller, params, body }) => {
    const since = parseDay(body.since)?.from
    if (since === undefined) {
      throw invalidParam('/body/since', 'must be a date, YYYY-MM-DD, or an ISO 8601 timestamp')
    }
    const { dryRun } = body
    const recovery = { workspaceId: caller.workspaceId, endpointId: ownForm(params.webhookId), since, dryRun }
    const { count, more, id } = await recoverDeliveries(db, recovery)
    if (id !== undefined) nudge.delivery(id)
    return { since: since.toISOString(), dryRun, count, more }
  })
}

type Of = { readonly workspaceId: string; readonly endpointId: string | null }

async function readPage(db: Db, of: Of, query: Static<typeof deliveryQuery>) {
  const { status, event, ...paging } = query
  const wanted = readTaskQuery(paging)
  const { pageSize, offset, after, from, before } = wanted
  const filter = { ...of, status, event, from, before }
  // One more than the page shows whether another follows.
  const [rows, total] = await Promise.all([
    listDeliveries(db, filter, { limit: pageSize + 1, offset, after }),
    countDeliveries(db, filter),
  ])
  const shown = rows.slice(0, pageSize)
  const last = rows.length > pageSize ? shown.at(-1) : undefined
  const next = last && { createdAtMicros: last.created_at_micros, id: last.id }
  return buildPage(shown.map(toDeliveryView), wanted, { total, next })
}
