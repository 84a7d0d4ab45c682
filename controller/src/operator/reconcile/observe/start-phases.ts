// Duration of each phase of a pod's start. Measured by the local clock on watch events, because Kubernetes' times have
// whole seconds. Pods whose creation was not observed are skipped.
//
//   scheduled   from its creation until it has a node
//   pulled      until its container runs: volumes, network, image
//   started     until Triton opens its ports, which it does when its models have loaded or failed to
//   loaded      until it is ready: all models are
//   warm        until this process may send it requests
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { histogram } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'
import type { Pod } from '../../kube/objects.ts'
import { poolLabel } from '../../pool/labels.ts'
import { isReady, tritonOf } from './observe-pods.ts'

export const startPhases = ['scheduled', 'pulled', 'started', 'loaded', 'warm'] as const
type StartPhase = (typeof startPhases)[number]

type StartPhasesOptions = {
  readonly registry: Registry
  /** Only the leader reports, so each pod counts once. */
  readonly reports: () => boolean
  readonly ready: (pool: string, seconds: number) => void
  readonly clock?: Clock
}

export const startMetrics = {
  phase: histogram({
    name: 'matte_pod_start_phase_seconds',
    help:
      "Duration of one phase of a pod's start, measured by the leader: scheduled to a node, container running, " +
      "Triton's ports open, models loaded, ready for requests.",
    labels: { phase: startPhases },
    // Covers a small model on a prepared node up to an hour.
    buckets: [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600],
  }),
}

/** A pod that is older when first observed existed before this process. Allows for clock skew. */
const newPodMs = 30_000

type Start = {
  readonly createdAt: number
  at: number
  next: number
  readonly pool: string
  readonly uid: string | undefined
}

export function startPhaseRecorder({ registry, reports, ready, clock = systemClock }: StartPhasesOptions) {
  const seconds = startMetrics.phase.register(registry)
  const starts = new Map<string, Start>()

  /** Ends the phases up to `phase`. Phases that end together were too short to be observed. */
  function reach(start: Start, phase: StartPhase): void {
    const now = clock.monotonicMs()
    for (let index = start.next; index <= startPhases.indexOf(phase); index++) {
      if (reports()) seconds.observe({ phase: startPhases[index] ?? phase }, (now - start.at) / 1000)
      start.at = now
      start.next = index + 1
      if (startPhases[index] === 'loaded') ready(start.pool, (now - start.createdAt) / 1000)
    }
  }

  function begin(name: string, pod: Pod, reached: StartPhase | undefined): Start | undefined {
    const pool = pod.metadata.labels?.[poolLabel]
    const ageMs = clock.nowMs() - Date.parse(pod.metadata.creationTimestamp ?? '')
    if (pool === undefined || reached !== undefined || !(ageMs < newPodMs)) return undefined
    const now = clock.monotonicMs()
    const start: Start = { createdAt: now, at: now, next: 0, pool, uid: pod.metadata.uid }
    starts.set(name, start)
    return start
  }

  return {
    observe: (name: string, pod: Pod | undefined): void => {
      const known = starts.get(name)
      const isOver =
        pod === undefined || pod.metadata.deletionTimestamp !== undefined || (tritonOf(pod)?.restartCount ?? 0) > 0
      if (isOver || (known && known.uid !== pod.metadata.uid)) starts.delete(name)
      if (isOver) return
      const reached = reachedBy(pod)
      const start = starts.get(name) ?? begin(name, pod, reached)
      if (start && reached) reach(start, reached)
    },
    observeWarm: (names: ReadonlySet<string>): void => {
      for (const [name, start] of starts) {
        if (start.next < startPhases.indexOf('warm') || !names.has(name)) continue
        reach(start, 'warm')
        starts.delete(name)
      }
    },
  }
}

function reachedBy(pod: Pod): StartPhase | undefined {
  const triton = tritonOf(pod)
  if (isReady(pod)) return 'loaded'
  if (triton?.started === true) return 'started'
  if (triton?.state?.running !== undefined) return 'pulled'
  const scheduled = pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'True')
  return scheduled ? 'scheduled' : undefined
}
