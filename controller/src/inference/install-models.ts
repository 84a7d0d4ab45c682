import type { Db } from '@matte/core/db/database'
import { installedModels } from '@matte/core/model/installed-models'
import { replaceModels } from '@matte/core/model/model-queries'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import type { StaticModel } from '../config.ts'

export type InstallModelsOptions = {
  readonly db: Db
  readonly models: readonly StaticModel[]
  readonly logger: Logger
}

/** Keeps the table `model` as `models.static` has it; repeated each minute, since another release may write it too. */
export function installModels({ db, models, logger }: InstallModelsOptions): Loop {
  const rows = installedModels(
    models.map(({ name, tritonModel, default: isDefault }) => ({
      pool: name,
      isDefault,
      models: [{ modelVersion: name, tritonModel, isDefault }],
    })),
  )
  return loop({
    name: 'install-models',
    everyMs: 60_000,
    logger,
    run: async () => {
      const written = await replaceModels(db, rows)
      return { models_written: Number(written) }
    },
  })
}
