import type { FastifyInstance } from 'fastify'

/**
 * While the process stops, each answer ends its connection. Idle connections are closed at once; one whose request was
 * being worked on would otherwise become idle afterwards and hold up the stop until its keep-alive time is over.
 */
export function endConnectionsWhileStopping(app: FastifyInstance): void {
  let stopping = false
  app.addHook('preClose', async () => {
    stopping = true
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (stopping) reply.header('connection', 'close')
    done(null, payload)
  })
}
