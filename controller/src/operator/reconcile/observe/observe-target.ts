// The revision that a pool asks for, from what its Deployments and its status record of the revisions there are.
import type { Deployment } from '../../kube/objects.ts'
import type { OwnerRequests } from '../../pool/owner-requests.ts'
import { isRetryAsked, retryAnnotation } from '../../pool/retry-annotation.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { type Built, builderVersion, inputsOf, readBuilt } from '../../specs/built.ts'
import { chooseTarget, findMissingRecords, type TargetBuild, type TargetInput } from '../../specs/choose-target.ts'
import { targetRevision } from '../../specs/triton-deployment.ts'

type Deployments = ReadonlyMap<string, Deployment>

type ObservedTarget = {
  readonly targetBuild: TargetBuild
  /** Records to write on Deployments that have none, by revision. */
  readonly missingRecords: ReadonlyMap<string, Built>
}

export function observeTarget(pool: TritonPool, deployments: Deployments, requests: OwnerRequests): ObservedTarget {
  const input = targetInput(pool, deployments, requests)
  return { targetBuild: chooseTarget(input), missingRecords: findMissingRecords(input) }
}

function targetInput(pool: TritonPool, deployments: Deployments, requests: OwnerRequests): TargetInput {
  const { metadata, status } = pool
  const { rollout, revisions = [], observedGeneration } = status ?? {}
  const { rebuild } = requests
  const known = new Set([...deployments.keys(), ...revisions.map(({ revision }) => revision)])
  return {
    inputs: inputsOf(pool),
    today: targetRevision(pool),
    rebuild,
    known: [...known].map((revision) => ({
      revision,
      hasDeployment: deployments.has(revision),
      built: builtOf(pool, deployments, revision),
    })),
    rollout,
    isSpecSeen: observedGeneration !== undefined && observedGeneration === metadata.generation,
    isRetried: isRetryAsked(metadata.annotations?.[retryAnnotation], rollout),
  }
}

/** The builders, as status shows them. */
export const observeBuilder = (
  pool: TritonPool,
  deployments: Deployments,
  { targetBuild, missingRecords }: ObservedTarget,
) => ({
  newest: builderVersion,
  of: (revision: string): Built | undefined =>
    revision === targetBuild.revision
      ? targetBuild.built
      : (builtOf(pool, deployments, revision) ?? missingRecords.get(revision)),
})

/** By its Deployment, or by status: the Deployment of a revision that was rolled back is gone. */
function builtOf({ status }: TritonPool, deployments: Deployments, revision: string): Built | undefined {
  const written = readBuilt(deployments.get(revision)?.metadata.annotations)
  if (written !== undefined) return written
  const { builder, inputs, rebuild } = status?.revisions?.find((one) => one.revision === revision) ?? {}
  if (builder === undefined || inputs === undefined) return undefined
  return { builder, inputs, ...(rebuild !== undefined && { rebuild }) }
}
