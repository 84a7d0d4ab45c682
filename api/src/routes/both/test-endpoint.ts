// The Test button (D68). This process sends nothing: it makes the delivery, and waits for what the dispatcher records.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { findDelivery } from '@matte/core/webhook/delivery/read-delivery'
import { deliveryNotFound } from '@matte/core/webhook/delivery/redeliver'
import { sendTest } from '@matte/core/webhook/delivery/send-test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { notePreference, readWaitSeconds } from '../../http/prefer.ts'
import { deliverySchema } from '../../schemas/delivery.ts'
import { refer, success } from '../../schemas/schema.ts'
import { toDeliveryView } from '../../views/delivery-view.ts'
import type { AttemptWaits } from '../../waits/attempt-waits.ts'
import type { Front } from '../task/front.ts'
import { ownForm } from './own-form.ts'

export type TestDeps = {
  readonly front: Front
  readonly db: Db
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly attempts: Pick<AttemptWaits, 'untilEnded'>
  /** Seconds: how long the answer waits, unless the caller prefers less. */
  readonly maxWaitSeconds: number
}

const schemaOf = ({ tags, responses, operationId }: Front) => ({
  operationId: operationId('testWebhook'),
  summary: 'Send a test event to a webhook endpoint',
  description:
    '`test.webhook`, with the same signature, from the same senders and under the same rules as any event. The ' +
    'answer has the recorded attempt in `attempts`; without one by then the delivery is `pending`, and is sent as ' +
    'soon as a sender is there. A failed test is retried like any event, until the next test takes its place.',
  tags: tags.webhooks,
  params: Type.Object({ webhookId: Type.String() }),
  headers: Type.Object({
    Prefer: Type.Optional(
      Type.String({
        description:
          '`wait=N` waits at most N seconds for the attempt, in place of as long as the service grants (25 by ' +
          'default). `handling=strict` refuses unknown fields.',
        examples: ['wait=5'],
      }),
    ),
  }),
  response: responses(200, success('The delivery with its attempt.', refer(deliverySchema)), ['NOT_FOUND', 'CONFLICT']),
})

export const testRoutes: FastifyPluginAsyncTypebox<TestDeps> = async (app, deps) => {
  const { db, nudge, front } = deps
  const options = { schema: schemaOf(front), config: { access: front.access.writeWebhooks } }
  app.post('/webhooks/:webhookId/test', options, async (request, reply) => {
    const { workspaceId } = request.caller
    const endpointId = ownForm(request.params.webhookId)
    const id = await sendTest(db, { workspaceId, endpointId, traceparent: currentTraceparent() ?? null })
    nudge.delivery(id)
    const attempted = await waitForAttempt(deps, id, { request: request as FastifyRequest, reply })
    const delivery = attempted ?? (await findDelivery(db, workspaceId, id))
    if (delivery === undefined) throw deliveryNotFound() // deleted meanwhile, with all that its workspace had
    return toDeliveryView(delivery)
  })
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

async function waitForAttempt({ attempts, maxWaitSeconds }: TestDeps, id: string, { request, reply }: Exchange) {
  const wanted = readWaitSeconds(request.headers.prefer)
  const seconds = Math.min(wanted ?? maxWaitSeconds, maxWaitSeconds)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  request.makeRoom()
  const { holders } = request
  const attempted = await attempts.untilEnded(id, { waitMs: seconds * 1_000, signal: gone.signal, holders })
  if (wanted !== undefined && attempted !== null) notePreference(reply, `wait=${seconds}`)
  return attempted
}
