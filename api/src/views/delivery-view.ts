import type { ShownDelivery } from '@matte/core/webhook/delivery/read-delivery'
import type { Static } from 'typebox'
import type { deliverySchema } from '../schemas/delivery.ts'

type DeliveryView = Static<typeof deliverySchema>

/** The delivery as its owner sees it. */
export const toDeliveryView = (delivery: ShownDelivery): DeliveryView => ({
  id: delivery.id,
  event: delivery.event,
  endpointId: delivery.endpoint_id,
  taskId: delivery.task_id,
  batchId: delivery.batch_id,
  targetUrl: delivery.target_url,
  status: delivery.status,
  requestBody: delivery.body,
  attemptCount: delivery.attempt,
  nextAttemptAt: nextAttemptAt(delivery)?.toISOString() ?? null,
  createdAt: delivery.created_at.toISOString(),
  completedAt: delivery.status === 'paused' ? null : (delivery.completed_at?.toISOString() ?? null),
  attempts: delivery.attempts.map((attempt) => ({
    attempt: attempt.attempt,
    endedAt: attempt.at.toISOString(),
    durationMs: attempt.duration_ms,
    statusCode: attempt.status_code,
    error: attempt.error,
    responseBody: attempt.response_body,
  })),
})

const nextAttemptAt = ({ status, claimed_until, due_at }: ShownDelivery): Date | null =>
  status === 'pending' && claimed_until === null ? due_at : null
