import type { Db } from '@matte/core/db/database'
import { findShownTask, type ShownTask, taskNotFound } from '@matte/core/task/task-queries'
import type { FastifyRequest } from 'fastify'
import { isUuid } from '../../uuid.ts'

type FindTask = {
  /** The workspace's own task. @throws MatteError TASK_NOT_FOUND */
  readonly findOwn: (request: Pick<FastifyRequest, 'caller'>, id: string) => Promise<ShownTask>
  /** That of the path. @throws MatteError TASK_NOT_FOUND */
  readonly find: (request: Pick<FastifyRequest, 'caller' | 'params'>) => Promise<ShownTask>
  readonly exists: (request: FastifyRequest) => Promise<void>
}

export function findTaskIn(db: Db): FindTask {
  const findOwn: FindTask['findOwn'] = async ({ caller }, id) => {
    const task = isUuid(id) ? await findShownTask(db, caller.workspaceId, id) : undefined
    if (task === undefined) throw taskNotFound()
    return task
  }
  const find: FindTask['find'] = (request) => findOwn(request, (request.params as { taskId: string }).taskId)
  return { findOwn, find, exists: async (request) => void (await find(request)) }
}
