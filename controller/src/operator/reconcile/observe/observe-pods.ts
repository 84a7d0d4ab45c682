// Pods as Kubernetes has them → pods as decisions and status see them. Pure.
import type { ContainerState, ContainerStatus, Pod } from '../../kube/objects.ts'
import { deletionCostAnnotation, revisionLabel } from '../../pool/labels.ts'
import type { PodObservation } from '../../pool/status/observation.ts'
import { victimCost } from '../../rollout/drain.ts'
import { checksumContainer } from '../../specs/checksum-container.ts'
import { tritonContainer } from '../../specs/pod-template.ts'

export type PodContext = {
  /** Revisions that serve or are being tried; the pods of others go because they were replaced. */
  readonly usedRevisions: ReadonlySet<string>
  /** Revisions of which no pod is wanted. */
  readonly emptyRevisions: ReadonlySet<string>
  /** Images in the pod that this controller knows of. */
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
  const initFault = initFaultOf(pod)
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
    ...(initFault && { initFault }),
    ...(wrongFiles.length > 0 && { wrongFiles }),
    ...(slotsUsed !== undefined && { slotsUsed }),
  }
}

export const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false

/** Triton's container; of a pod that a patch has renamed it in, the first one. */
export const tritonOf = ({ status }: Pod): ContainerStatus | undefined =>
  status?.containerStatuses?.find(({ name }) => name === tritonContainer) ?? status?.containerStatuses?.[0]

/** Containers wait for a moment in every start; these reasons say nothing. */
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

/** The last words of the container that compares: a line for each model, `name: what`. */
function wrongFilesOf({ status }: Pod): NonNullable<PodObservation['wrongFiles']> {
  const { state, lastState } = status?.initContainerStatuses?.find(({ name }) => name === checksumContainer) ?? {}
  const exit = state?.terminated ?? lastState?.terminated
  if (exit === undefined || exit.exitCode === 0) return []
  return [...(exit.message ?? '').matchAll(/^([^\s:]+): (.+)$/gm)].map(([, model = '', message = '']) => ({
    model,
    message,
  }))
}

function initFaultOf({ status }: Pod): PodObservation['initFault'] {
  for (const { name, ready, restartCount, state, lastState } of status?.initContainerStatuses ?? []) {
    const exit = state?.terminated ?? lastState?.terminated
    // One that goes on beside Triton is ready, and may have ended before.
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
