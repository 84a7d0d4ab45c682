// Pods as Kubernetes has them → pods as decisions and status see them. Pure.
import type { ContainerState, ContainerStatus, Pod } from '../../kube/objects.ts'
import { deletionCostAnnotation, revisionLabel } from '../../pool/labels.ts'
import type { PodObservation } from '../../pool/status/observation.ts'
import { victimCost } from '../../rollout/drain.ts'
import { checksumContainer } from '../../specs/checksum-container.ts'
import { tritonContainer } from '../../specs/pod-template.ts'

type PodContext = {
  /** The stable revision and the canary; pods of other revisions drain because they were replaced. */
  readonly usedRevisions: ReadonlySet<string>
  /** Revisions with no desired pods. */
  readonly emptyRevisions: ReadonlySet<string>
  /** Requests that all workers have in flight in the pod. */
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

/** Triton's container, or the first one where a pod patch renamed it. */
export const tritonOf = ({ status }: Pod): ContainerStatus | undefined =>
  status?.containerStatuses?.find(({ name }) => name === tritonContainer) ?? status?.containerStatuses?.[0]

/** Reasons for which containers wait in every start. */
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

/** From the termination message of the checksum container, which has one line for each model: `name: what`. */
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
    // A sidecar is ready, and may have ended before.
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
