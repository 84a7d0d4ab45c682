import type { ContainerState, ContainerStatus, Pod } from '../../kube/objects.ts'
import { deletionCostAnnotation, revisionLabel } from '../../pool/labels.ts'
import type { PodObservation, PoolObservation } from '../../pool/status/observation.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { victimCost } from '../../rollout/choose-victims.ts'
import { checksumContainer, tritonContainer } from '../../specs/pod-template.ts'

type PodContext = {
  /** Stable revision and canary; pods of other revisions drain as replaced. */
  readonly usedRevisions: ReadonlySet<string>
  readonly emptyRevisions: ReadonlySet<string>
  readonly slotsUsed: number | undefined
}

export function observePod(pod: Pod, { usedRevisions, emptyRevisions, slotsUsed }: PodContext): PodObservation {
  const { metadata, status } = pod
  const revision = metadata.labels?.[revisionLabel] ?? ''
  const draining = metadata.deletionTimestamp !== undefined
  const triton = tritonOf(pod)
  const waiting = waitingOf(pod)
  const exit = (triton?.state?.terminated ?? triton?.lastState?.terminated) as ContainerState['terminated']
  const unschedulable = unschedulableOf(pod)
  const wrongFiles = wrongFilesOf(pod)
  const initFailure = initFailureOf(pod)
  const chosen = metadata.annotations?.[deletionCostAnnotation] === victimCost || emptyRevisions.has(revision)
  return {
    name: metadata.name,
    revision,
    phase: status?.phase ?? 'Pending',
    ready: isReady(pod) && !draining,
    draining,
    ...(draining && !usedRevisions.has(revision) && { drainReason: 'RevisionReplaced' }),
    ...(draining && usedRevisions.has(revision) && chosen && { drainReason: 'ScaleDown' }),
    createdAt: new Date(metadata.creationTimestamp ?? 0),
    ...(waiting && { waiting }),
    ...(unschedulable !== undefined && { unschedulable }),
    ...(exit && { lastExit: exitOf(exit) }),
    restarts: triton?.restartCount ?? 0,
    ...(initFailure && { initFailure }),
    ...(wrongFiles.length > 0 && { wrongFiles }),
    ...(slotsUsed !== undefined && { slotsUsed }),
  }
}

export const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false

/** Triton's container, or the first one if a pod patch renamed it. */
export const tritonOf = ({ status }: Pod): ContainerStatus | undefined =>
  status?.containerStatuses?.find(({ name }) => name === tritonContainer) ?? status?.containerStatuses?.[0]

const usual = new Set(['ContainerCreating', 'PodInitializing'])

function waitingOf({ status }: Pod): PodObservation['waiting'] {
  for (const { state } of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason, message } = state?.waiting ?? {}
    if (reason !== undefined && !usual.has(reason)) return { reason, ...(message !== undefined && { message }) }
  }
  return undefined
}

function unschedulableOf({ status }: Pod): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (condition?.status !== 'False' || condition.reason !== 'Unschedulable') return undefined
  return condition.message ?? 'no reason given'
}

/** Reads the checksum container's termination message: one line `name: message` per model. */
function wrongFilesOf({ status }: Pod): NonNullable<PodObservation['wrongFiles']> {
  const { state, lastState } = status?.initContainerStatuses?.find(({ name }) => name === checksumContainer) ?? {}
  const exit = state?.terminated ?? lastState?.terminated
  if (exit === undefined || exit.exitCode === 0) return []
  return [...(exit.message ?? '').matchAll(/^([^\s:]+): (.+)$/gm)].map(([, model = '', message = '']) => ({
    model,
    message,
  }))
}

function initFailureOf({ status }: Pod): PodObservation['initFailure'] {
  for (const { name, ready, restartCount, state, lastState } of status?.initContainerStatuses ?? []) {
    const exit = state?.terminated ?? lastState?.terminated
    // Skips a ready sidecar that had ended before.
    if (!ready && exit !== undefined && exit.exitCode !== 0) {
      return { container: name, restarts: restartCount, lastExit: exitOf(exit) }
    }
  }
  return undefined
}

function exitOf({ exitCode, reason, message }: NonNullable<ContainerState['terminated']>) {
  return { exitCode, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) }
}

export const revisionOfPod = ({ metadata }: Pod): string | undefined => metadata.labels?.[revisionLabel]

export const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

export function missingSourcesOf(
  { spec }: TritonPool,
  pods: readonly PodObservation[],
): PoolObservation['missingSources'] {
  const words = pods.flatMap(({ draining, ready, unschedulable, waiting }) =>
    draining || ready ? [] : [unschedulable ?? waiting?.message ?? ''],
  )
  const isMissing = (kind: string, name: string): boolean =>
    words.some((text) => text.includes(`${kind} "${name}" not found`))
  return spec.models.flatMap(({ name: model, source }) => {
    const { persistentVolumeClaim: claim, s3 } = source
    if (claim && isMissing('persistentvolumeclaim', claim.claimName)) {
      return [{ model, message: `there is no PersistentVolumeClaim ${claim.claimName} in the pool's namespace` }]
    }
    if (s3?.secretName !== undefined && isMissing('secret', s3.secretName)) {
      return [{ model, message: `there is no Secret ${s3.secretName} in the pool's namespace` }]
    }
    return []
  })
}
