// What the pods of a revision serve. It is kept per revision, since spec describes the target revision only: during a
// rollout and after a rollback, pods serve the models of an earlier spec.
import type { TritonPool } from './triton-pool.ts'

/** `name` is its folder, `modelVersion` what callers write. */
export type RevisionModel = { readonly name: string; readonly modelVersion: string; readonly default: boolean }

const inStatus = ({ status }: TritonPool, revision: string): readonly RevisionModel[] | undefined =>
  status?.revisions?.find((known) => known.revision === revision)?.models

/** From status; from spec for a revision that status does not have yet. */
export const modelsOfRevision = (pool: TritonPool, revision: string): readonly RevisionModel[] =>
  inStatus(pool, revision) ?? pool.spec.models

/**
 * What callers may choose in a pool: the models of the revision that serves. Names appear and disappear with the
 * promotion of a new revision, so a rollback leaves no name behind.
 */
export const modelsInUse = (pool: TritonPool): readonly RevisionModel[] => {
  const stable = pool.status?.rollout?.stable
  return stable === undefined ? pool.spec.models : modelsOfRevision(pool, stable)
}

export const toRevisionModels = (models: readonly RevisionModel[]): RevisionModel[] =>
  models.map(({ name, modelVersion, default: isDefault }) => ({ name, modelVersion, default: isDefault }))

type Remembered = {
  readonly pool: TritonPool
  /** The revision that spec asks for. Its public names follow spec at once, since they are not part of a pod. */
  readonly target: string
  /** The annotation of a revision's Deployment, for a status that was lost. */
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
    return undefined // somebody overwrote it
  }
}
