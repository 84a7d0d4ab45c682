import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { taskChangeSchema } from '../../schemas/app/task-event.ts'
import { memberResponses, refer } from '../../schemas/schema.ts'
import type { TaskStreams } from '../../stream/task-streams.ts'

export type StreamRouteDeps = { readonly streams: Pick<TaskStreams, 'open'> }

const streamSchema = {
  operationId: 'streamTaskChanges',
  summary: 'Follow what happens to the tasks of the workspace',
  description:
    'Server-sent events, one for each entry of the history of any task: `id`, `event: task`, and `data`, a ' +
    'TaskChange as JSON. Nothing is skipped and the order is that of the history. When the stream ends, as it does ' +
    'with the access token at the latest, open it again with the last `id` in `Last-Event-ID`; it goes on from ' +
    'there, as far as the tasks are kept. Without the header it begins with what comes next, and says its `id` ' +
    'first. A comment follows 15 s of silence. The token goes into the header and never into the URL, so a browser ' +
    'uses `fetch` and not `EventSource`.',
  tags: ['Images'],
  headers: Type.Object({
    'Last-Event-ID': Type.Optional(
      Type.String({
        pattern: '^([0-9]{1,15})?$',
        description: 'The `id` of the last event that you have.',
        examples: ['1024'],
      }),
    ),
  }),
  response: memberResponses(
    200,
    Type.Unsafe<string>({
      description: 'The stream.',
      content: {
        'text/event-stream': { schema: { type: 'string', contentSchema: refer(taskChangeSchema) } },
      },
    }),
    [],
  ),
}

/** What is sent at once is not to be gathered by a proxy (nginx and others read this header). */
const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

export const taskStreamRoutes: FastifyPluginAsyncTypebox<StreamRouteDeps> = async (app, { streams }) => {
  app.route({
    method: 'GET',
    url: '/stream',
    exposeHeadRoute: false, // it would open one
    schema: streamSchema,
    config: { access: { roles }, envelope: false, endless: true },
    handler: async (request, reply) => {
      const { workspaceId, sessionId } = request.member
      const position = request.headers['last-event-id']
      const { holders, tokenEndsAtMs } = request
      const of = { workspaceId, sessionId, holders, tokenEndsAtMs, outgoing: reply.raw }
      const stream = await streams.open({ ...of, after: position ? Number(position) : undefined })
      return reply.headers(headers).send(stream)
    },
  })
}
