// The deprecated paths /v1/tasks (D44): the handlers of their replacements, with deprecation headers. They go with
// version 3.0; LEGACY_ENABLED turns them off before.
import type { Bucket } from '@matte/core/storage/bucket'
import { asksProbeFirst, type StoreProbe } from '@matte/core/storage/store-probe'
import type { FastifyPluginAsync } from 'fastify'
import { developerSurface } from './developer-surface.ts'
import type { ApiSurface, OperationGroup, TaskOperation } from './shared/api-surface.ts'
import { type TaskDeps, taskRoutes } from './shared/tasks.ts'

type LegacyDeps = Omit<TaskDeps, 'surface' | 'bucket'> & {
  readonly bucket: Bucket
  readonly probe: Pick<StoreProbe, 'isDown'>
  readonly publicUrl: string
  readonly sunset: Date | undefined
}

/** 2025-07-17T00:00:00Z, when version 2.0 deprecated them, in seconds since the Unix epoch. */
const deprecatedAt = 1_752_710_400

const read = { access: { scope: 'tasks:read' }, tags: ['Deprecated'] } satisfies OperationGroup
const write = { access: { scope: 'tasks:write' }, tags: ['Deprecated'] } satisfies OperationGroup

const legacySurface: ApiSurface<TaskOperation> = {
  ...developerSurface,
  operations: {
    createTask: { url: '/v1/tasks', operationId: 'legacyCreateTask', ...write },
    listTasks: { url: '/v1/tasks', operationId: 'legacyListTasks', ...read },
    getTask: { url: '/v1/tasks/:taskId', operationId: 'legacyGetTask', ...read },
    cancelTask: { url: '/v1/tasks/:taskId', operationId: 'legacyCancelTask', ...write },
  },
}

export const legacyTaskRoutes: FastifyPluginAsync<LegacyDeps> = async (app, { publicUrl, sunset, ...deps }) => {
  app.addHook('onRoute', (route) => {
    const replacement = route.url.replace(/^\/v1/, '/api/v1/open/developer').replace(/:(\w+)/, '{$1}')
    const summary = `${route.schema?.summary} (deprecated: use ${replacement})`
    route.schema = { ...route.schema, summary, deprecated: true }
  })
  // onSend also covers errors raised before the handler.
  app.addHook('onSend', async (request, reply, payload) => {
    const { taskId } = request.params as { taskId?: string }
    const path = taskId === undefined ? '/tasks' : `/tasks/${encodeURIComponent(taskId.toWellFormed())}`
    const successor = `<${publicUrl}/api/v1/open/developer${path}>; rel="successor-version"`
    reply.headers({
      deprecation: `@${deprecatedAt}`,
      link: [successor, reply.getHeader('link')].filter(Boolean).join(', '),
      ...(sunset && { sunset: sunset.toUTCString() }),
    })
    return payload
  })
  const bucket = asksProbeFirst(deps.bucket, deps.probe)
  await taskRoutes(app.withTypeProvider(), { ...deps, bucket, surface: legacySurface })
}
