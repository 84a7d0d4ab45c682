import type { Db } from '@matte/core/db/database'
import { defaultModelVersion, type ListedModel, listModels } from '@matte/core/model/model-queries'

/** How old the list of models may be. */
const maxAgeMs = 5_000

export type ModelCache = {
  /** The names that are valid now, the default one always among them (D38). */
  validNames(): Promise<readonly string[]>
  /** The same with what is known of them. */
  valid(): Promise<readonly ListedModel[]>
}

/** One query per 5 s at most; callers that come while it runs share it. */
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
      if (known === latest) known = undefined // an error is reported once and not kept
    })
    return latest
  }
  return { valid, validNames: async () => (await valid()).map(({ name }) => name) }
}
