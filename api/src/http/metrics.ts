import { type ErrorCode, errorCodes } from '@matte/core/error'
import { counter, histogram } from '@matte/core/runtime/metrics/define'
import { createEndingMetrics } from '@matte/core/task/run/ending-metrics'
import type { Plans } from '@matte/core/workspace/plan'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { needsCredential } from '../access.ts'

/** Other methods count as `other`, so clients cannot create new series. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const

export const httpMetrics = {
  tasksCreated: counter({
    name: 'matte_tasks_created_total',
    help: 'Accepted tasks, including children of batches.',
    labels: { model_version: 'the models that are installed', plan: 'the plans of the settings' },
    reader: 'product',
  }),
  duration: histogram({
    name: 'matte_http_request_duration_seconds',
    help:
      'From the first byte of a request to the last byte of its response, or to the first byte of a stream. ' +
      'Unknown paths count as the route `none`; requests to the object store have a separate route.',
    labels: {
      method: methods,
      route: 'as registered, without ids',
      status: 'of the response; unusual ones by class, such as 5xx',
    },
    reader: 'alert',
  }),
  errors: counter({
    name: 'matte_http_errors_total',
    help: 'Error responses of the API, by public code.',
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
    ends: createEndingMetrics(registry, { plans: Object.keys(plans), statuses: ['canceled'] }),
    countError: (code: ErrorCode): void => errors.inc({ code }),
  }
}

/** Observes the duration of every request and logs one line; health probes are not logged. */
export function observeRequests(app: FastifyInstance, { duration }: Pick<ApiMetrics, 'duration'>): void {
  function observe(request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions } = request
    const { statusCode: status } = reply
    const route = routeOptions.url ?? 'none'
    duration.observe({ method: knownMethod(method), route, status: knownStatus(status) }, reply.elapsedTime / 1_000)
    if (routeOptions.config.quiet) return
    const caller = needsCredential(routeOptions.config) ? request.caller : undefined
    // At debug level, so a flood of refused requests does not flood the log.
    request.log[status === 429 ? 'debug' : 'info'](
      {
        ...{ method, route, status },
        duration_ms: Math.round(reply.elapsedTime),
        ...(caller && { workspace_id: caller.workspaceId }),
        // Audit entries have this id; it differs if the caller chose `request_id`.
        ...(request.ownId !== request.id && { own_request_id: request.ownId }),
      },
      'request answered',
    )
  }
  // Streams are observed when they start.
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

/** A store may return any status, and the gateway passes it on. */
const statuses: ReadonlySet<number> = new Set([
  ...[200, 201, 204, 206, 304, 400, 401, 403, 404, 405, 408, 409, 411, 412, 413, 416, 429],
  ...[500, 501, 502, 503, 504, 507],
])

const knownStatus = (status: number): string =>
  statuses.has(status) ? String(status) : `${Math.floor(status / 100)}xx`

declare module 'fastify' {
  interface FastifyContextConfig {
    quiet?: true
    /** The response is a stream without a meaningful duration. */
    endless?: true
  }
}
