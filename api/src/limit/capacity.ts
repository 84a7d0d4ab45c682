// Load shedding before authentication, which itself costs a look-up. Two limits: REQUESTS_IN_WORK_MAX concurrent
// requests (256 by default, a queue of a fraction of a second), and 1 s of waiting for a database connection. Requests
// that wait for a body or the store count in admission.ts.

import { invalidParam } from '@matte/core/invalid-params'
import { counter, gauge } from '@matte/core/runtime/metrics/define'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { isForOneCaller, needsCredential } from '../access.ts'
import { capacityExceeded } from '../errors/error-handler.ts'
import { RequestAdmission } from './admission.ts'
import { bodyDeadlineMs, withDeadline } from './body-deadline.ts'
import { clientNetwork } from './client-network.ts'

export const capacityMetrics = {
  refused: counter({
    name: 'matte_http_requests_refused_total',
    help: 'Requests refused for lack of capacity.',
    reader: 'saturation',
  }),
  inFlight: gauge({
    name: 'matte_http_requests_in_flight',
    help: 'Requests of the API in progress; bounded by REQUESTS_IN_WORK_MAX.',
    reader: 'saturation',
  }),
  inFlightMax: gauge({
    name: 'matte_http_requests_in_flight_max',
    help: 'Maximum of concurrent requests of the API: REQUESTS_IN_WORK_MAX.',
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

/** Time for which a request keeps its slot after its client disconnected, unless it ends: the longest statement. */
const lostAfterMs = 35_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the slot for a request that only waits from now on (`Prefer: wait`). */
    releaseSlot(): void
    /** Reads a body in the handler without a slot of work. @throws MatteError RATE_LIMIT_EXCEEDED when too many wait */
    awaitBody<T>(read: () => Promise<T>): Promise<T>
    /** Waits for the object store without a slot. @throws MatteError RATE_LIMIT_EXCEEDED when too many wait */
    awaitStore<T>(read: () => Promise<T>): Promise<T>
  }
}

type CapacityDeps = {
  readonly requestsInWorkMax: number
  readonly oldestWaitMs: () => number
  readonly registry: Registry
}

type Admission = RequestAdmission<FastifyRequest>

export type Capacity = Pick<Admission, 'countFor'>

export function refuseOverload(
  app: FastifyInstance,
  { requestsInWorkMax, oldestWaitMs, registry }: CapacityDeps,
): Capacity {
  // One shared error: capturing a stack would double the cost of a refusal.
  const refusal = capacityExceeded()
  const refused = capacityMetrics.refused.register(registry)
  const refuse = (): typeof refusal => {
    refused.inc()
    return refusal
  }
  const admission: Admission = new RequestAdmission(requestsInWorkMax, refuse)
  observeAdmission(admission, registry)
  capacityMetrics.inFlightMax.register(registry).set(requestsInWorkMax)
  app.decorateRequest('releaseSlot', function releaseSlot(this: FastifyRequest) {
    admission.leave(this)
  })
  app.decorateRequest('awaitBody', async function awaitBody<T>(this: FastifyRequest, read: () => Promise<T>) {
    admission.awaitBody(this)
    const body = await read()
    admission.returnToWork(this)
    return body
  })
  app.decorateRequest('awaitStore', function awaitStore<T>(this: FastifyRequest, read: () => Promise<T>) {
    return admission.awaitStore(this, read)
  })

  app.addHook('onRequest', (request, reply, done) => {
    if (!isForOneCaller(request.routeOptions.config)) return done()
    if (oldestWaitMs() > queueAgeMaxMs) return done(refuse())
    admission.enter(request, holderOf(request))
    reply.raw.once('close', () => {
      if (admission.has(request)) setTimeout(() => admission.leave(request), lostAfterMs).unref()
    })
    done()
  })
  awaitBodies(app, admission)
  // Also runs for errors and for clients that have disconnected.
  app.addHook('onSend', (request, _reply, payload, done) => {
    admission.leave(request)
    done(null, payload)
  })
  return admission
}

/** Credentials are not verified yet. Operations before sign-in count by client address. */
const holderOf = ({ headers, ip, routeOptions }: FastifyRequest): string =>
  needsCredential(routeOptions.config)
    ? `key ${headers['x-api-key']} ${headers.authorization}`
    : `address ${clientNetwork(ip)}`

function awaitBodies(app: FastifyInstance, admission: Admission): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { routeOptions, raw, headers } = request
    if (!admission.has(request) || raw.complete || routeOptions.schema?.body === undefined) return done(null, payload)
    admission.awaitBody(request)
    const afterMs = bodyDeadlineMs(headers['content-length'])
    done(null, withDeadline({ afterMs, late: () => bodyLate(reply) }, payload))
  })
  app.addHook('preValidation', (request, _reply, done) => {
    admission.returnToWork(request)
    done()
  })
}

/** Closes the connection instead of waiting for the rest of the body. */
export function bodyLate(reply: FastifyReply): Error {
  reply.header('connection', 'close')
  return invalidParam('/body', 'did not arrive in time')
}

function observeAdmission({ work, bodies, store }: Admission, registry: Registry): void {
  capacityMetrics.inFlight.register(registry, (metric) => metric.set(work.taken))
  capacityMetrics.waiting.register(registry, (metric) => {
    metric.set({ for: 'body' }, bodies.taken)
    metric.set({ for: 'store' }, store.taken)
  })
}
