// `matte webhooks listen` and `matte webhooks trigger`: a workspace's webhooks without a public address.

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { invalidParam } from '@matte/core/invalid-params'
import { type WebhookEvent, webhookEvents } from '@matte/core/webhook/events'
import { sendSampleToStreams } from '@matte/core/webhook/stream/send-sample'
import { Type } from 'typebox'
import { commitChange } from '../http/audit.ts'
import { refer, responses, success } from '../schemas/schema.ts'
import { streamedWebhookSchema, streamReadySchema, triggeredSchema, triggerRequest } from '../schemas/webhook-stream.ts'
import { eventStreamHeaders } from '../stream/event-stream.ts'
import type { WebhookStreams } from '../stream/webhook-streams.ts'

type WebhookStreamDeps = {
  readonly db: Db
  readonly nudge: Pick<Nudge, 'change'>
  readonly webhookStreams: Pick<WebhookStreams, 'open'>
}

const tags = ['Webhooks']

const streamSchema = {
  operationId: 'streamWebhooks',
  summary: 'Stream the webhooks of your workspace',
  description:
    'Server-sent events. `ready` comes first, with the secret that signs this stream. Each `webhook` is one event, ' +
    'with the body and the headers to send to a receiver, signed as for an endpoint. `matte webhooks listen` forwards ' +
    'them to a local server.\n\n' +
    'The stream may end at any time. Open it again with the last `id` in `Last-Event-ID` to resume; `complete` in ' +
    '`ready` is false if events in between are no longer stored. They are stored for an hour (a setting), at most ' +
    '10,000. An event may arrive twice, with the same `webhook-id`. An `id` may come without an event, after 15 s of ' +
    'silence. The stream needs no endpoint, and changes nothing for endpoints.',
  tags,
  querystring: Type.Object({
    eventTypes: Type.Optional(
      Type.String({
        description: 'Names of events, separated by commas. Without it, all events.',
        examples: ['task.succeeded,task.failed'],
      }),
    ),
  }),
  headers: Type.Object({
    'Last-Event-ID': Type.Optional(
      Type.String({
        pattern: '^([0-9]{1,15})?$',
        description: 'The last `id` that you have.',
        examples: ['42'],
      }),
    ),
  }),
  response: responses(
    200,
    Type.Unsafe<string>({
      description: 'The stream.',
      content: {
        'text/event-stream': {
          schema: {
            type: 'string',
            contentSchema: { oneOf: [refer(streamReadySchema), refer(streamedWebhookSchema)] },
          },
        },
      },
    }),
    [],
  ),
}

const triggerSchema = {
  operationId: 'triggerWebhook',
  summary: 'Send a sample of an event to the open streams',
  description:
    'The sample has example values, nil ids, and the header `X-Matte-Sample: true`. It goes to streams of your ' +
    'workspace whose filter has the event, and to no endpoint. `CONFLICT` if no stream is open.',
  tags,
  body: triggerRequest,
  response: responses(200, success('The sample.', refer(triggeredSchema)), ['CONFLICT']),
}

export const webhookStreamRoutes: FastifyPluginAsyncTypebox<WebhookStreamDeps> = async (app, deps) => {
  const { db, nudge, webhookStreams } = deps

  app.route({
    method: 'GET',
    url: '/api/v1/open/developer/webhooks/stream',
    exposeHeadRoute: false, // HEAD would open a stream
    schema: streamSchema,
    config: { access: { scope: 'webhooks:listen' }, envelope: false, endless: true },
    handler: async (request, reply) => {
      const { workspaceId, apiKeyId = '' } = request.caller
      const eventTypes = parseEventTypes(request.query.eventTypes)
      const position = request.headers['last-event-id']
      const after = position ? Number(position) : undefined
      const of = { workspaceId, apiKeyId, eventTypes, holders: request.holders, outgoing: reply.raw }
      return reply.headers(eventStreamHeaders).send(await webhookStreams.open({ ...of, after }))
    },
  })

  const triggerConfig = { access: { scope: 'webhooks:write' } } as const
  app.post(
    '/api/v1/open/developer/webhooks/trigger',
    { schema: triggerSchema, config: triggerConfig },
    async (request) => {
      const { caller, body } = request
      const { id } = await commitChange(db, request, async (tx) => ({
        id: await sendSampleToStreams(tx, caller.workspaceId, body.event),
      }))
      nudge.change(caller.workspaceId)
      return { id, event: body.event }
    },
  )
}

function parseEventTypes(list = ''): WebhookEvent[] {
  const names = list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return [...new Set(names)].map((name) => {
    const event = webhookEvents.find((each) => each === name)
    if (event === undefined) throw invalidParam('/query/eventTypes', `has ${name}, which is not an event`)
    return event
  })
}
