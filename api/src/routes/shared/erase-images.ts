import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { eraseImages } from '@matte/core/task/erase-images'
import { taskNotFound } from '@matte/core/task/task-queries'
import { Type } from 'typebox'
import { commitChange } from '../../http/audit.ts'
import type { LinksFor } from '../../schemas/result-links.ts'
import { refer, success } from '../../schemas/schema.ts'
import { taskSchema, toTaskView } from '../../schemas/task.ts'
import { isUuid } from '../../uuid.ts'
import type { ApiSurface, Operation, Responses } from './api-surface.ts'
import { findTaskIn } from './tasks.ts'

export type EraseDeps = {
  readonly surface: ApiSurface
  readonly db: Db
  readonly links: LinksFor
}

const eraseSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Erase photo, result and previews of an ended task',
  description:
    'They are deleted within a minute, and links to them end. The task stays in the history without the file name. ' +
    'Another task on the same photo keeps its result only. CONFLICT: cancel the task, or wait for its end, first.',
  tags,
  params: Type.Object({ taskId: Type.String() }),
  response: responses(200, success('The task, its images erased.', refer(taskSchema)), ['TASK_NOT_FOUND', 'CONFLICT']),
})

export const eraseRoutes: FastifyPluginAsyncTypebox<EraseDeps> = async (app, { db, links, surface }) => {
  const { eraseTaskImages: erase } = surface.operations
  const { exists } = findTaskIn(db)
  const options = { schema: eraseSchema(erase, surface.responses), config: { access: erase.access, exists } }
  app.delete(erase.url, options, async (request) => {
    const { taskId } = request.params
    if (!isUuid(taskId)) throw taskNotFound()
    const task = await commitChange(db, request, (tx) => eraseImages(tx, request.caller.workspaceId, taskId))
    return toTaskView(task, links(request.caller))
  })
}
