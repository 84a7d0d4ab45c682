import { isDeepStrictEqual } from 'node:util'
import type { Db } from '@matte/core/db/database'
import type { ModelProperties } from '@matte/core/db/tables/model'
import { type InstalledModel, replaceModels } from '@matte/core/model/model-queries'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import type { Pod, PodSource } from './routing/pod-source.ts'

type InstallModelsOptions = {
  readonly db: Db
  /** What there is now; undefined: not known yet, and the table stays as it is. */
  readonly models: () => readonly InstalledModel[] | undefined
  /** What says what the models are. */
  readonly source: Pick<PodSource, 'pods' | 'onChange'>
  readonly logger: Logger
}

/** Keeps the table `model` as the installation has it; repeated each minute, since another release may write it too. */
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
  // Pods come and go by the hundred; what they say of their models is news once.
  let told: unknown
  source.onChange(() => {
    const now = (models() ?? []).map((row) => propertiesOf(row, source.pods()))
    if (isDeepStrictEqual(now, told)) return
    told = now
    install.wake()
  })
  return install
}

/**
 * By a pod of the revision that serves: one that is tried may be gone again soon. Where nodes differ, so do forms and
 * views; then it is what has the fewest views, lest replicas that know the pods in another order take turns in writing.
 */
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
