import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { createTask } from '@matte/core/task/create-task'
import type { Inspected } from '@matte/core/upload/inspect-object'
import type { FastifyRequest } from 'fastify'
import type { ApiMetrics } from '../../http/metrics.ts'
import { storeOf } from './task-request.ts'

type SubmitDeps = {
  readonly db: Db
  readonly bucket: Inspected
  readonly nudge: Pick<Nudge, 'task' | 'change'>
  readonly metrics: Pick<ApiMetrics, 'tasksCreated'>
}

type OfCaller = 'workspaceId' | 'plan' | 'createdBy' | 'apiKeyId' | 'traceparent'
type Wanted = Omit<Parameters<typeof createTask>[2], OfCaller>

/** Creates a task of the caller, and nudges the workers. @throws as `createTask` */
export async function submitTask({ db, bucket, nudge, metrics }: SubmitDeps, request: FastifyRequest, wanted: Wanted) {
  const { workspaceId, plan, planLimits, userId: createdBy, apiKeyId } = request.caller
  const maker = { workspaceId, plan: planLimits, createdBy, apiKeyId, traceparent: currentTraceparent() ?? null }
  const task = await createTask(db, storeOf(request, bucket), { ...maker, ...wanted })
  nudge.task(task.model_version, task.id)
  nudge.change(workspaceId)
  metrics.tasksCreated.inc({ model_version: task.model_version, plan })
  return task
}
