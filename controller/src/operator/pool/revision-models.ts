// Models of each revision. Spec describes only the target revision; during a rollout and after a rollback pods serve
// models of an earlier spec.
import type { TritonPool } from './triton-pool.ts'

export type RevisionModel = { readonly name: string; readonly modelVersion: string; readonly default: boolean }

const inStatus = ({ status }: TritonPool, revision: string): readonly RevisionModel[] | undefined =>
  status?.revisions?.find((known) => known.revision === revision)?.models

export const modelsOfRevision = (pool: TritonPool, revision: string): readonly RevisionModel[] =>
  inStatus(pool, revision) ?? pool.spec.models

/** Public models of a pool: those of the stable revision. So a rollback leaves no names behind. */
export const modelsInUse = (pool: TritonPool): readonly RevisionModel[] => {
  const stable = pool.status?.rollout?.stable
  return stable === undefined ? pool.spec.models : modelsOfRevision(pool, stable)
}

export const toRevisionModels = (models: readonly RevisionModel[]): RevisionModel[] =>
  models.map(({ name, modelVersion, default: isDefault }) => ({ name, modelVersion, default: isDefault }))

type Remembered = {
  readonly pool: TritonPool
  /** The revision that spec asks for. Its public names follow spec at once, because they are not part of a pod. */
  readonly target: string
  readonly written: (revision: string) => string | undefined
}

export function rememberModels({ pool, target, written }: Remembered, revision: string): readonly RevisionModel[] {
  if (revision === target) return pool.spec.models
  return inStatus(pool, revision) ?? read(written(revision)) ?? pool.spec.models
}

function read(text: string | undefined): readonly RevisionModel[] | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as RevisionModel[])
  } catch {
    return undefined
  }
}
