// Load shedding before authentication, which itself costs a look-up. Two limits: REQUESTS_IN_WORK_MAX concurrent
// requests (256 by default, a queue of a fraction of a second), and 1 s of waiting for a database connection. Requests
// that wait for a body or the store count in admission.ts.

import { counter, gauge } from '@matte/core/runtime/metrics/define'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { isForOneCaller, needsCredential } from '../access.ts'
import { capacityExceeded } from '../errors/error-handler.ts'
import { RequestAdmission, type UploadKind } from './admission.ts'
import { clientNetwork } from './client-network.ts'
import { IncomingBody } from './incoming-body.ts'
import { announcedBytes, failingBody, readUntilFault } from './request-body.ts'

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
    help: 'Requests of the API that wait for their body, pass an upload on, or wait for the object store.',
    labels: { for: ['body', 'upload', 'store'] },
    reader: 'saturation',
  }),
}

const queueAgeMaxMs = 1_000

/** Time for which a request keeps its slot after its client disconnected, unless it ends: the longest statement. */
const lostAfterMs = 35_000

/** Time for the rest of a body after the response, for clients that read it only then. */
const lingerMs = 10_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the slot for a request that only waits from now on (`Prefer: wait`). */
    releaseSlot(): void
    /**
     * Reads a body in the handler without a slot of work.
     * @throws MatteError RATE_LIMIT_EXCEEDED when too many wait; INVALID_PARAMS when it is late or has too many chunks
     */
    awaitBody<T>(reply: FastifyReply, read: () => Promise<T>): Promise<T>
    /** As `awaitBody`, for a body that `pass` passes on without keeping it. */
    awaitUpload<T>(reply: FastifyReply, kind: UploadKind, pass: () => Promise<T>): Promise<T>
    /** Waits for the object store without a slot. @throws MatteError RATE_LIMIT_EXCEEDED when too many wait */
    awaitStore<T>(read: () => Promise<T>): Promise<T>
  }
}

type CapacityDeps = {
  readonly requestsInWorkMax: number
  readonly maxConnections: number
  readonly oldestWaitMs: () => number
  readonly registry: Registry
}

type Admission = RequestAdmission<FastifyRequest>

export type Capacity = Pick<Admission, 'countFor'>

export function refuseOverload(
  app: FastifyInstance,
  { requestsInWorkMax, maxConnections, oldestWaitMs, registry }: CapacityDeps,
): Capacity {
  // One shared error: capturing a stack would double the cost of a refusal.
  const refusal = capacityExceeded()
  const refused = capacityMetrics.refused.register(registry)
  const refuse = (): typeof refusal => {
    refused.inc()
    return refusal
  }
  const uploadsMax = Math.ceil(maxConnections / 4)
  const admission: Admission = new RequestAdmission({ requestsInWorkMax, uploadsMax }, refuse)
  observeAdmission(admission, registry)
  capacityMetrics.inFlightMax.register(registry).set(requestsInWorkMax)
  app.decorateRequest('releaseSlot', function releaseSlot(this: FastifyRequest) {
    admission.leave(this)
  })
  decorateReaders(app, admission)
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
  app.addHook('onSend', (request, reply, payload, done) => {
    admission.leave(request)
    lingerForBody(admission, request, reply)
    done(null, payload)
  })
  return admission
}

const addressOf = ({ ip }: FastifyRequest): string => `address ${clientNetwork(ip)}`

/** Credentials are not verified yet. Operations before sign-in count by client address. */
function holderOf(request: FastifyRequest): string {
  const { headers, routeOptions } = request
  return needsCredential(routeOptions.config)
    ? `key ${headers['x-api-key']} ${headers.authorization}`
    : addressOf(request)
}

const kindOf = ({ routeOptions: { config } }: FastifyRequest) =>
  needsCredential(config) || config.access === 'network' ? 'bodies' : 'openBodies'

function decorateReaders(app: FastifyInstance, admission: Admission): void {
  app.decorateRequest('awaitBody', async function awaitBody<
    T,
  >(this: FastifyRequest, reply: FastifyReply, read: () => Promise<T>) {
    admission.awaitBody(this, kindOf(this), addressOf(this))
    const body = await readUntilFault({ request: this, reply }, read)
    admission.returnToWork(this)
    return body
  })
  app.decorateRequest('awaitUpload', async function awaitUpload<
    T,
  >(this: FastifyRequest, reply: FastifyReply, kind: UploadKind, pass: () => Promise<T>) {
    admission.awaitBody(this, kind, addressOf(this))
    if (this.raw instanceof IncomingBody) this.raw.passOn()
    try {
      return await readUntilFault({ request: this, reply }, pass)
    } finally {
      admission.leave(this)
    }
  })
}

/** For routes whose body Fastify parses before the handler. */
function awaitBodies(app: FastifyInstance, admission: Admission): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { routeOptions, raw } = request
    const isParsed = routeOptions.schema?.body !== undefined || routeOptions.config.rawBody?.readBy === 'parser'
    if (!isParsed || raw.complete || announcedBytes(request.headers) === 0) return done(null, payload)
    // A body in the packet of its head is complete by then, and needs no slot.
    setImmediate(() => {
      if (raw.complete) return done(null, payload)
      try {
        admission.awaitBody(request, kindOf(request), addressOf(request))
        done(null, failingBody({ request, reply }, payload))
      } catch (error) {
        done(error as Error)
      }
    })
  })
  app.addHook('preValidation', (request, _reply, done) => {
    admission.returnToWork(request)
    done()
  })
}

/** A body that is still arriving when its response is sent keeps a slot, or its connection is closed. */
function lingerForBody(admission: Admission, request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = request
  if (!(raw instanceof IncomingBody) || !raw.isExpected || raw.complete) return
  if (raw.fault !== undefined || !admission.leftovers.hasSlot(addressOf(request))) {
    reply.header('connection', 'close')
    return
  }
  admission.awaitBody(request, 'leftovers', addressOf(request))
  const timer = setTimeout(() => raw.destroy(), lingerMs).unref()
  // Discards the rest here: Node would do so without counting chunks, and only if no handler has begun to read.
  raw.unpipe().resume()
  raw.once('fault', () => {
    if (reply.raw.writableFinished) raw.destroy()
    else reply.raw.once('finish', () => raw.destroy())
  })
  raw.once('close', () => {
    clearTimeout(timer)
    admission.leave(request)
  })
}

function observeAdmission(
  { work, bodies, openBodies, uploads, openUploads, store }: Admission,
  registry: Registry,
): void {
  capacityMetrics.inFlight.register(registry, (metric) => metric.set(work.taken))
  capacityMetrics.waiting.register(registry, (metric) => {
    metric.set({ for: 'body' }, bodies.taken + openBodies.taken)
    metric.set({ for: 'upload' }, uploads.taken + openUploads.taken)
    metric.set({ for: 'store' }, store.taken)
  })
}
