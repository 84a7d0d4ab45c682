// What the pods of a revision serve. It is remembered per revision, since spec speaks of the wanted one only: while a new
// model is tried, or was taken back, the pods that serve are those of the models before.
import type { TritonPool } from './triton-pool.ts'

/** A model as routing needs it: its folder, what callers write, and whether it stands for the pool. */
export type RevisionModel = { readonly name: string; readonly modelVersion: string; readonly default: boolean }

export type RevisionModels = { readonly revision: string; readonly models: readonly RevisionModel[] }

/** As status remembers it; of a revision that it does not know yet, what spec asks for. */
export const modelsOfRevision = ({ spec, status }: TritonPool, revision: string): readonly RevisionModel[] =>
  status?.revisions?.find((known) => known.revision === revision)?.models ?? spec.models

/**
 * What callers may ask of a pool: what the revision that serves answers for. A name that only a new revision has begins
 * with its promotion, and one that it no longer has ends there; so a revision that is taken back leaves no name behind.
 */
export const modelsInUse = (pool: TritonPool): readonly RevisionModel[] => {
  const stable = pool.status?.rollout?.stable
  return stable === undefined ? pool.spec.models : modelsOfRevision(pool, stable)
}

export const toRevisionModels = (models: readonly RevisionModel[]): RevisionModel[] =>
  models.map(({ name, modelVersion, default: isDefault }) => ({ name, modelVersion, default: isDefault }))

export type Remembered = {
  readonly pool: TritonPool
  /** The revision that spec asks for: its public names follow spec at once, since they are no part of a pod. */
  readonly target: string
  /** What was written on the Deployment of a revision when it was made, for a status that was lost. */
  readonly written: (revision: string) => string | undefined
}

export function rememberModels({ pool, target, written }: Remembered, revision: string): readonly RevisionModel[] {
  const { spec, status } = pool
  if (revision === target) return spec.models
  return (
    status?.revisions?.find((known) => known.revision === revision)?.models ?? read(written(revision)) ?? spec.models
  )
}

function read(text: string | undefined): readonly RevisionModel[] | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as RevisionModel[])
  } catch {
    return undefined // written over by somebody
  }
}
