import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ListedModel } from '@matte/core/model/model-queries'
import { modelSchema } from '../../schemas/model.ts'
import { pageOf } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import { toModelView } from '../../views/model-view.ts'
import { toWholeList } from '../../views/whole-list.ts'
import type { Front } from '../task/front.ts'

export type ModelDeps = { readonly front: Front; readonly models: { valid(): Promise<readonly ListedModel[]> } }

export const modelRoutes: FastifyPluginAsyncTypebox<ModelDeps> = async (app, { front, models }) => {
  const schema = {
    operationId: front.operationId('listModels'),
    summary: 'List the models that a task may name',
    description: 'All that are installed, by name, also those whose pods start with the first task; up to 5 s old.',
    tags: front.tags.tasks,
    response: front.responses(200, success('All models.', pageOf(refer(modelSchema))), []),
  }
  app.get('/models', { schema, config: { access: front.access.readTasks } }, async () =>
    toWholeList((await models.valid()).map(toModelView)),
  )
}
