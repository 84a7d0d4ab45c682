// What the service cannot take it refuses before any work (D6), so that what it has taken is answered in time and
// memory stays bounded. Two bounds:
// - requests in work, by `REQUESTS_IN_WORK_MAX`. Each waits for the database most of its life; one process answers
//   some hundred creations or thousands of reads a second, so that the default of 256 is a queue of parts of a second.
//   One that waits for its body or for the object store is bounded elsewhere (rooms.ts);
// - the age of the queue for a database connection. However slow the database has become, whoever is let in waits
//   about as long as the first in that queue has waited, and a second is what a caller may have to spend on waiting.
// It comes before the credential: a look-up is the very work that there is no room for.

import { invalidParam } from '@matte/core/invalid-params'
import { counter, gauge } from '@matte/core/runtime/metrics/define'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { isForOneCaller, needsCredential } from '../access.ts'
import { capacityExceeded } from '../errors/answer-error.ts'
import { clientNetwork } from './client-network.ts'
import { bodyDeadlineMs, expectWithin } from './late-body.ts'
import { RequestRooms } from './rooms.ts'

/** All of this file; docs/metrics.md lists them. */
export const capacityMetrics = {
  refused: counter({
    name: 'matte_http_requests_refused_total',
    help: 'Requests refused because the service had no room for them.',
    reader: 'saturation',
  }),
  inFlight: gauge({
    name: 'matte_http_requests_in_flight',
    help: 'Requests of the API that are being worked on; REQUESTS_IN_WORK_MAX is their bound.',
    reader: 'saturation',
  }),
  inFlightMax: gauge({
    name: 'matte_http_requests_in_flight_max',
    help: 'Most requests of the API that are worked on at once: REQUESTS_IN_WORK_MAX.',
    reader: 'saturation',
  }),
  waiting: gauge({
    name: 'matte_http_requests_waiting',
    help: 'Requests of the API that wait for their body or for the object store.',
    labels: { for: ['body', 'store'] },
    reader: 'saturation',
  }),
}

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
    /** Waits for the object store, without a place in work. @throws MatteError RATE_LIMIT_EXCEEDED when too many do */
    atStore<T>(look: () => Promise<T>): Promise<T>
  }
}

type CapacityDeps = {
  readonly requestsInWorkMax: number
  /** Milliseconds that the first in the queue for a database connection has waited. */
  readonly oldestWaitMs: () => number
  readonly registry: Registry
}

type Rooms = RequestRooms<FastifyRequest>

/** What `checkAccess` needs of it. */
export type Capacity = Pick<Rooms, 'countFor'>

export function refuseOverload(
  app: FastifyInstance,
  { requestsInWorkMax, oldestWaitMs, registry }: CapacityDeps,
): Capacity {
  // One for all: taking down the stack of a new error would be half of the work of a refusal.
  const refusal = capacityExceeded()
  const refused = capacityMetrics.refused.register(registry)
  const refuse = (): typeof refusal => {
    refused.inc()
    return refusal
  }
  const rooms: Rooms = new RequestRooms(requestsInWorkMax, refuse)
  observeRooms(rooms, registry)
  capacityMetrics.inFlightMax.register(registry).set(requestsInWorkMax)
  app.decorateRequest('makeRoom', function makeRoom(this: FastifyRequest) {
    rooms.leave(this)
  })
  app.decorateRequest('atStore', function atStore<T>(this: FastifyRequest, look: () => Promise<T>) {
    return rooms.atStore(this, look)
  })

  app.addHook('onRequest', (request, reply, done) => {
    if (!isForOneCaller(request.routeOptions.config)) return done()
    if (oldestWaitMs() > queueAgeMaxMs) return done(refuse())
    rooms.enter(request, holderOf(request))
    reply.raw.once('close', () => {
      if (rooms.has(request)) setTimeout(() => rooms.leave(request), lostAfterMs).unref()
    })
    done()
  })
  awaitBodies(app, rooms)
  // Also reached by errors, and by an answer whose client has gone.
  app.addHook('onSend', (request, _reply, payload, done) => {
    rooms.leave(request)
    done(null, payload)
  })
  return rooms
}

/** Nobody has judged a credential yet. Before sign-in there is none, and the client's address stands for it. */
const holderOf = ({ headers, ip, routeOptions }: FastifyRequest): string =>
  needsCredential(routeOptions.config)
    ? `key ${headers['x-api-key']} ${headers.authorization}`
    : `address ${clientNetwork(ip)}`

/** Nothing changes for a body that has come with its head, as most do. */
function awaitBodies(app: FastifyInstance, rooms: Rooms): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { routeOptions, raw, headers } = request
    if (!rooms.has(request) || raw.complete || routeOptions.schema?.body === undefined) return done(null, payload)
    rooms.awaitBody(request)
    const afterMs = bodyDeadlineMs(headers['content-length'])
    done(null, expectWithin({ afterMs, late: () => bodyLate(reply) }, payload))
  })
  app.addHook('preValidation', (request, _reply, done) => {
    rooms.returnToWork(request)
    done()
  })
}

/** The connection ends with the answer: the rest of the body would be waited for. */
function bodyLate(reply: FastifyReply): Error {
  reply.header('connection', 'close')
  return invalidParam('/body', 'did not arrive in time')
}

function observeRooms({ work, bodies, store }: Rooms, registry: Registry): void {
  capacityMetrics.inFlight.register(registry, (metric) => metric.set(work.taken))
  capacityMetrics.waiting.register(registry, (metric) => {
    metric.set({ for: 'body' }, bodies.taken)
    metric.set({ for: 'store' }, store.taken)
  })
}
