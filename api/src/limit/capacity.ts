// What the service cannot take it refuses before any work (D6), so that what it has taken is answered in time and
// memory stays bounded. Two bounds:
// - requests in work, by `REQUESTS_IN_WORK_MAX`. Each waits for the database most of its life; one process answers
//   some hundred creations or thousands of reads a second, so that the default of 128 is a queue of parts of a second;
// - the age of the queue for a database connection. However slow the database has become, whoever is let in waits
//   about as long as the first in that queue has waited, and a second is what a caller may have to spend on waiting.
// It comes before the credential: a look-up is the very work that there is no room for.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { capacityExceeded } from '../errors/answer-error.ts'

const queueAgeMaxMs = 1_000

/**
 * A request whose client has gone is still worked on, and is counted until it would have been answered. This bounds
 * what a request that never comes to an answer could hold: the longest that a statement may last.
 */
const lostAfterMs = 35_000

declare module 'fastify' {
  interface FastifyRequest {
    /** From now on the request only waits and does no work (`Prefer: wait`): it makes room for another. */
    makeRoom(): void
  }
}

type CapacityDeps = {
  readonly requestsInWorkMax: number
  /** Milliseconds that the first in the queue for a database connection has waited. */
  readonly oldestWaitMs: () => number
  readonly registry: Registry
}

export function refuseOverload(
  app: FastifyInstance,
  { requestsInWorkMax, oldestWaitMs, registry }: CapacityDeps,
): void {
  const inWork = new Set<FastifyRequest>()
  // One for all: taking down the stack of a new error would be half of the work of a refusal.
  const refusal = capacityExceeded()
  const refused = new Counter({
    name: 'matte_http_requests_refused_total',
    help: 'Requests refused because the service had no room for them.',
    registers: [registry],
  })
  new Gauge({
    name: 'matte_http_requests_in_flight',
    help: 'Requests of the API that are being worked on.',
    registers: [registry],
    collect() {
      this.set(inWork.size)
    },
  })
  app.decorateRequest('makeRoom', function makeRoom(this: FastifyRequest) {
    inWork.delete(this)
  })

  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.scope === undefined) return done()
    if (inWork.size >= requestsInWorkMax || oldestWaitMs() > queueAgeMaxMs) {
      refused.inc()
      return done(refusal)
    }
    inWork.add(request)
    reply.raw.once('close', () => {
      if (inWork.has(request)) setTimeout(() => inWork.delete(request), lostAfterMs).unref()
    })
    done()
  })
  // Also reached by errors, and by an answer whose client has gone.
  app.addHook('onSend', (request, _reply, payload, done) => {
    inWork.delete(request)
    done(null, payload)
  })
}
