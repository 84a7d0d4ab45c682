import type { Db } from '@matte/core/db/database'
import { defaultModelVersion, listModels } from '@matte/core/model/model-queries'

/** How old the list of models may be. */
const maxAgeMs = 5_000

export type ModelCache = {
  /** The names that are valid now, the default one always among them (D38). */
  validNames(): Promise<readonly string[]>
}

/** One query per 5 s at most; callers that come while it runs share it. */
export function modelCache(db: Db): ModelCache {
  let names: Promise<readonly string[]> | undefined
  let readAtMs = 0
  const read = async () => {
    const models = await listModels(db)
    return models.filter((model) => model.available || model.name === defaultModelVersion).map((model) => model.name)
  }
  return {
    validNames: () => {
      if (names !== undefined && performance.now() - readAtMs < maxAgeMs) return names
      readAtMs = performance.now()
      const latest = read()
      names = latest
      latest.catch(() => {
        if (names === latest) names = undefined // an error is reported once and not kept
      })
      return latest
    },
  }
}
