import { isDeepStrictEqual } from 'node:util'
import type { Db } from '@matte/core/db/database'
import type { ModelProperties } from '@matte/core/db/tables/model'
import { type InstalledModel, replaceModels } from '@matte/core/model/model-queries'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import type { Pod, PodSource } from './routing/pod-source.ts'

type InstallModelsOptions = {
  readonly db: Db
  /** Undefined while unknown: the table is left alone. */
  readonly models: () => readonly InstalledModel[] | undefined
  readonly source: Pick<PodSource, 'pods' | 'onChange'>
  readonly logger: Logger
}

/** Keeps the table `model` current; repeated each minute because another release may write it too. */
export function installModels({ db, models, source, logger }: InstallModelsOptions): Loop {
  const install = loop({
    name: 'install-models',
    everyMs: 60_000,
    logger,
    run: async () => {
      const rows = models()?.map((row) => ({ ...row, properties: propertiesOf(row, source.pods()) }))
      const written = rows !== undefined && (await replaceModels(db, rows))
      return { models_written: Number(written) }
    },
  })
  let lastProperties: unknown
  source.onChange(() => {
    const now = (models() ?? []).map((row) => propertiesOf(row, source.pods()))
    if (isDeepStrictEqual(now, lastProperties)) return
    lastProperties = now
    install.wake()
  })
  return install
}

/** Properties from a stable pod. If nodes differ, the fewest views win, so replicas do not overwrite each other. */
export function propertiesOf({ pool, tritonModel }: InstalledModel, pods: readonly Pod[]): ModelProperties | undefined {
  const [first, ...rest] = pods.filter(
    (one) => one.pool === pool && one.tritonModel === tritonModel && one.role === 'stable',
  )
  if (first === undefined) return undefined
  const pod = rest.reduce((least, one) => (orderOf(one) < orderOf(least) ? one : least), first)
  const { inputSize, views, form = null, licence = null, speed = null } = pod.shape
  return { inputSize, views, form, licence: licence ?? pod.licence ?? null, speed }
}

const orderOf = ({ shape }: Pod): string => `${shape.views} ${shape.form} ${shape.speed} ${shape.licence}`
