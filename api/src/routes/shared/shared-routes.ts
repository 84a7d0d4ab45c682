import { asksProbeFirst } from '@matte/core/storage/store-probe'
import type { FastifyPluginAsync } from 'fastify'
import type { ApiSurface } from './api-surface.ts'
import { type BatchDeps, batchRoutes } from './batches.ts'
import { type DeliveryDeps, deliveryRoutes } from './deliveries.ts'
import { type EndpointDeps, endpointRoutes } from './endpoints.ts'
import { eraseRoutes } from './erase-images.ts'
import { type RetryDeps, retryRoutes, type TaskDeps, taskRoutes } from './tasks.ts'
import { type UploadDeps, uploadRoutes } from './uploads.ts'
import { type WebhookRecordDeps, webhookRecordRoutes } from './webhook-records.ts'
import { type WorkspaceDeps, workspaceRoutes } from './workspace.ts'

type TaskSurfaceDeps = UploadDeps & Omit<TaskDeps & RetryDeps & BatchDeps, 'bucket'>
export type SharedRouteDeps = Omit<
  TaskSurfaceDeps & EndpointDeps & DeliveryDeps & WebhookRecordDeps & WorkspaceDeps,
  'surface'
>

/** Every operation that both surfaces have. */
export const sharedRoutes: FastifyPluginAsync<SharedRouteDeps & { readonly surface: ApiSurface }> = async (
  app,
  deps,
) => {
  const inspecting = { ...deps, bucket: asksProbeFirst(deps.bucket, deps.probe) }
  await uploadRoutes(app.withTypeProvider(), deps)
  await taskRoutes(app.withTypeProvider(), inspecting)
  await retryRoutes(app.withTypeProvider(), inspecting)
  await eraseRoutes(app.withTypeProvider(), deps)
  await batchRoutes(app.withTypeProvider(), inspecting)
  await endpointRoutes(app.withTypeProvider(), deps)
  await deliveryRoutes(app.withTypeProvider(), deps)
  await webhookRecordRoutes(app.withTypeProvider(), deps)
  await workspaceRoutes(app.withTypeProvider(), deps)
}
