// What is done with uploads, tasks and batches, on one front of the interface.
import { asksProbeFirst } from '@matte/core/storage/store-probe'
import type { FastifyPluginAsync } from 'fastify'
import { type BatchDeps, batchRoutes } from './batch-tasks.ts'
import { type RetryDeps, retryRoutes } from './retry-task.ts'
import { type TaskDeps, taskRoutes } from './tasks.ts'
import { type UploadDeps, uploadRoutes } from './uploads.ts'

export type TaskOperationDeps = UploadDeps & Omit<TaskDeps & RetryDeps & BatchDeps, 'bucket'>

export const taskOperations: FastifyPluginAsync<TaskOperationDeps> = async (app, deps) => {
  await uploadRoutes(app.withTypeProvider(), deps)
  const inspecting = { ...deps, bucket: asksProbeFirst(deps.bucket, deps.probe) }
  await taskRoutes(app.withTypeProvider(), inspecting)
  await retryRoutes(app.withTypeProvider(), inspecting)
  await batchRoutes(app.withTypeProvider(), inspecting)
}
