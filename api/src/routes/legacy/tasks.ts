// The deprecated paths at the host root (D44): the very handlers of their replacements, with headers that say so. They
// go with version 3.0; LEGACY_ENABLED turns them off before.
import type { Bucket } from '@matte/core/storage/bucket'
import { asksProbeFirst, type StoreProbe } from '@matte/core/storage/store-probe'
import type { FastifyPluginAsync } from 'fastify'
import { developerFront } from '../task/front.ts'
import { type TaskDeps, taskRoutes } from '../task/tasks.ts'

type LegacyDeps = Omit<TaskDeps, 'front' | 'bucket'> & {
  readonly bucket: Bucket
  readonly probe: Pick<StoreProbe, 'isDown'>
  /** Where the replacements are, such as `https://matte.example.com/api/v1/open/developer`. */
  readonly successor: string
  readonly sunset: Date | undefined
}

/** 2025-07-17T00:00:00Z: version 2.0, which deprecated them, in seconds since the Unix epoch. */
const deprecatedAt = 1_752_710_400

export const legacyTaskRoutes: FastifyPluginAsync<LegacyDeps> = async (app, { successor, sunset, ...deps }) => {
  app.addHook('onRoute', (route) => {
    const replacement = route.url.replace(/^\/v1/, '/api/v1/open/developer').replace(/:(\w+)/, '{$1}')
    const summary = `${route.schema?.summary} (deprecated: use ${replacement})`
    route.schema = { ...route.schema, summary, deprecated: true }
  })
  // Late, so that refusals before the handler have it too.
  app.addHook('onSend', async (request, reply, payload) => {
    const { taskId } = request.params as { taskId?: string }
    const path = taskId === undefined ? '/tasks' : `/tasks/${encodeURIComponent(taskId.toWellFormed())}`
    reply.headers({
      deprecation: `@${deprecatedAt}`,
      link: `<${successor}${path}>; rel="successor-version"`,
      ...(sunset && { sunset: sunset.toUTCString() }),
    })
    return payload
  })
  await taskRoutes(app.withTypeProvider(), {
    ...deps,
    bucket: asksProbeFirst(deps.bucket, deps.probe),
    front: developerFront,
  })
}
