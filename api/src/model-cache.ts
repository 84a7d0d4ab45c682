import type { Db } from '@matte/core/db/database'
import { defaultModelVersion, type ListedModel, listModels } from '@matte/core/model/model-queries'

const maxAgeMs = 5_000

export type ModelCache = {
  /** Always includes the default model. */
  validNames(): Promise<readonly string[]>
  valid(): Promise<readonly ListedModel[]>
}

/** At most one query per 5 s, shared by concurrent callers. */
export function modelCache(db: Db): ModelCache {
  let known: Promise<readonly ListedModel[]> | undefined
  let readAtMs = 0
  const read = async () => {
    const models = await listModels(db)
    return models.filter((model) => model.available || model.name === defaultModelVersion)
  }
  const valid = (): Promise<readonly ListedModel[]> => {
    if (known !== undefined && performance.now() - readAtMs < maxAgeMs) return known
    readAtMs = performance.now()
    const latest = read()
    known = latest
    latest.catch(() => {
      if (known === latest) known = undefined // errors are not cached
    })
    return latest
  }
  return { valid, validNames: async () => (await valid()).map(({ name }) => name) }
}
