import type { Db } from '@matte/core/db/database'
import { type InstalledModel, replaceModels } from '@matte/core/model/model-queries'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'

type InstallModelsOptions = {
  readonly db: Db
  /** What there is now; undefined: not known yet, and the table stays as it is. */
  readonly models: () => readonly InstalledModel[] | undefined
  readonly logger: Logger
}

/** Keeps the table `model` as the installation has it; repeated each minute, since another release may write it too. */
export const installModels = ({ db, models, logger }: InstallModelsOptions): Loop =>
  loop({
    name: 'install-models',
    everyMs: 60_000,
    logger,
    run: async () => {
      const rows = models()
      const written = rows !== undefined && (await replaceModels(db, rows))
      return { models_written: Number(written) }
    },
  })
