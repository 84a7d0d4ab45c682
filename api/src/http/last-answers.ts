import type { FastifyInstance } from 'fastify'

/**
 * From `stopping` on each answer ends its connection: a client that reuses connections opens its next one elsewhere,
 * and none becomes idle again and holds up the stop until its keep-alive time is over.
 */
export function endConnectionsWhileStopping(app: FastifyInstance, stopping: AbortSignal): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (stopping.aborted) reply.header('connection', 'close')
    done(null, payload)
  })
}
