import { type ErrorCode, errorCodes } from '@matte/core/error'
import { counter, histogram } from '@matte/core/runtime/metrics/define'
import { createEndingMetrics } from '@matte/core/task/run/ending-metrics'
import type { Plans } from '@matte/core/workspace/plan'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { needsCredential } from '../access.ts'

/** Any client may send another; what is not listed is one value, so that nobody can make new series. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const

/** All of this file; docs/metrics.md lists them. */
export const httpMetrics = {
  tasksCreated: counter({
    name: 'matte_tasks_created_total',
    help: 'Tasks accepted, children of batches among them.',
    labels: { model_version: 'the models that are installed', plan: 'the plans of the settings' },
    reader: 'product',
  }),
  duration: histogram({
    name: 'matte_http_request_duration_seconds',
    help:
      'From the first byte of a request to the last of its answer, of a stream to the first. Unknown paths are one ' +
      'route, `none`; what is served of the object store, and its statuses, are another.',
    labels: {
      method: methods,
      route: 'as registered, without ids',
      status: 'of the answer; of an odd one the class, 5xx',
    },
    reader: 'alert',
  }),
  errors: counter({
    name: 'matte_http_errors_total',
    help: 'Requests that were answered with an error of the API, by its public code.',
    labels: { code: errorCodes },
    reader: 'product',
  }),
}

export type ApiMetrics = ReturnType<typeof createMetrics>

export function createMetrics(registry: Registry, plans: Plans) {
  const errors = httpMetrics.errors.register(registry)
  return {
    tasksCreated: httpMetrics.tasksCreated.register(registry),
    duration: httpMetrics.duration.register(registry),
    /** Of what callers cancel; a worker or a sweep ends the rest. */
    ends: createEndingMetrics(registry, { plans: Object.keys(plans), statuses: ['canceled'] }),
    countError: (code: ErrorCode): void => errors.inc({ code }),
  }
}

/** Times every request and writes one line of log for it; probes of health are counted and not logged. */
export function observeRequests(app: FastifyInstance, { duration }: Pick<ApiMetrics, 'duration'>): void {
  function observe(request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions } = request
    const { statusCode: status } = reply
    const route = routeOptions.url ?? 'none'
    duration.observe({ method: knownMethod(method), route, status: knownStatus(status) }, reply.elapsedTime / 1_000)
    if (routeOptions.config.quiet) return
    const caller = needsCredential(routeOptions.config) ? request.caller : undefined
    // A flood that is refused must not become a flood of lines; the metric counts it.
    request.log[status === 429 ? 'debug' : 'info'](
      {
        ...{ method, route, status },
        duration_ms: Math.round(reply.elapsedTime),
        ...(caller && { workspace_id: caller.workspaceId }),
      },
      'request answered',
    )
  }
  // An endless answer is answered once it begins.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.routeOptions.config.endless) observe(request, reply)
    done(null, payload)
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (!request.routeOptions.config.endless) observe(request, reply)
    done()
  })
}

const known: ReadonlySet<string> = new Set(methods)
const knownMethod = (method: string): string => (known.has(method) ? method : 'other')

/** The API's own, and those of a store; a store may answer with any number, and its gateway passes that on. */
const statuses: ReadonlySet<number> = new Set([
  ...[200, 201, 204, 206, 304, 400, 401, 403, 404, 405, 408, 409, 411, 412, 413, 416, 429],
  ...[500, 501, 502, 503, 504, 507],
])

const knownStatus = (status: number): string =>
  statuses.has(status) ? String(status) : `${Math.floor(status / 100)}xx`

declare module 'fastify' {
  interface FastifyContextConfig {
    /** No line of log for each request. */
    quiet?: true
    /** The answer goes on for as long as it can: its duration says nothing. */
    endless?: true
  }
}
