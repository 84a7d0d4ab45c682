import type { Db } from '@matte/core/db/database'
import { installedModels } from '@matte/core/model/installed-models'
import { installModels } from './install-models.ts'
import { type StaticPodsOptions, staticPods } from './routing/static-pods.ts'
import type { Serving } from './serving.ts'

/** Pods that somebody else keeps running (D84). */
export function staticMode({ db, ...options }: StaticPodsOptions & { readonly db: Db }): Serving {
  const source = staticPods(options)
  const rows = installedModels(
    options.models.map(({ name, tritonModel, default: isDefault }) => ({
      pool: name,
      isDefault,
      models: [{ modelVersion: name, tritonModel, isDefault }],
    })),
  )
  const models = installModels({ db, models: () => rows, source, logger: options.logger })
  return { source, services: [models, source] }
}
