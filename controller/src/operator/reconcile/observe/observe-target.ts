// The revision that a pool asks for, from the records on its Deployments and in its status.
import type { Deployment } from '../../kube/objects.ts'
import { isRetryAsked, type OwnerRequests, retryAnnotation } from '../../pool/owner-requests.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { type BuildRecord, builderVersion, inputsOf, readBuildRecord } from '../../specs/build-record.ts'
import { chooseTarget, findMissingRecords, type TargetBuild, type TargetInput } from '../../specs/choose-target.ts'
import { targetRevision } from '../../specs/triton-deployment.ts'

type Deployments = ReadonlyMap<string, Deployment>

type ObservedTarget = {
  readonly targetBuild: TargetBuild
  readonly missingRecords: ReadonlyMap<string, BuildRecord>
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

export const observeBuilder = (
  pool: TritonPool,
  deployments: Deployments,
  { targetBuild, missingRecords }: ObservedTarget,
) => ({
  newest: builderVersion,
  of: (revision: string): BuildRecord | undefined =>
    revision === targetBuild.revision
      ? targetBuild.built
      : (builtOf(pool, deployments, revision) ?? missingRecords.get(revision)),
})

/** From its Deployment, or from status: a rolled-back revision has no Deployment. */
function builtOf({ status }: TritonPool, deployments: Deployments, revision: string): BuildRecord | undefined {
  const written = readBuildRecord(deployments.get(revision)?.metadata.annotations)
  if (written !== undefined) return written
  const { builder, inputs, rebuild } = status?.revisions?.find((one) => one.revision === revision) ?? {}
  if (builder === undefined || inputs === undefined) return undefined
  return { builder, inputs, ...(rebuild !== undefined && { rebuild }) }
}
