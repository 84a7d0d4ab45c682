import { durationBuckets } from '@matte/core/runtime/metrics/define'
import { createEndingMetrics, type EndingMetrics } from '@matte/core/task/run/ending-metrics'
import type { Plans } from '@matte/core/workspace/plan'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'

export type ApiMetrics = {
  readonly tasksCreated: Counter<'model_version' | 'plan'>
  /** Of what callers cancel; a worker or a sweep ends the rest. */
  readonly ends: EndingMetrics
}

export function createMetrics(registry: Registry, plans: Plans): ApiMetrics {
  return {
    tasksCreated: new Counter({
      name: 'matte_tasks_created_total',
      help: 'Tasks accepted.',
      labelNames: ['model_version', 'plan'],
      registers: [registry],
    }),
    ends: createEndingMetrics(registry, { plans: Object.keys(plans), statuses: ['canceled'] }),
  }
}

/** Times every request and writes one line of log for it; probes of health are counted and not logged. */
export function observeRequests(app: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    name: 'matte_http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its answer. Unknown paths are one route, `none`.',
    labelNames: ['method', 'route', 'status'],
    buckets: durationBuckets,
    registers: [registry],
  })
  function observe(request: FastifyRequest, reply: FastifyReply): void {
    const route = request.routeOptions.url ?? 'none'
    const labels = { method: request.method, route, status: reply.statusCode }
    duration.observe(labels, reply.elapsedTime / 1_000)
    if (request.routeOptions.config.quiet) return
    const caller = request.routeOptions.config.scope === undefined ? undefined : request.caller
    // A flood that is refused must not become a flood of lines; the metric counts it.
    request.log[reply.statusCode === 429 ? 'debug' : 'info'](
      { ...labels, duration_ms: Math.round(reply.elapsedTime), ...(caller && { workspace_id: caller.workspaceId }) },
      'request answered',
    )
  }
  app.addHook('onResponse', (request, reply, done) => {
    observe(request, reply)
    done()
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** No line of log for each request. */
    quiet?: true
  }
}
