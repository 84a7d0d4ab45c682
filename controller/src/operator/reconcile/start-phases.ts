// How long each part of a pod's start takes, and the whole of it. Seen by the watch and measured by our own clock, since
// Kubernetes' times are whole seconds; of a pod whose beginning was not seen, nothing is told.
//
//   scheduled   made → a node was found
//   pulled      → its container runs: volumes, network, image
//   started     → Triton's ports are open, which it opens when its models have loaded or failed to
//   loaded      → ready: all models are
//   warm        → this process may send it images
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { Histogram, type Registry } from 'prom-client'
import type { Pod } from '../kube/objects.ts'
import { poolLabel } from '../pool/labels.ts'
import { isReady, tritonOf } from './observe/observe-pods.ts'

export const startPhases = ['scheduled', 'pulled', 'started', 'loaded', 'warm'] as const
export type StartPhase = (typeof startPhases)[number]

export type StartPhases = {
  /** A change of a pod; undefined: it is gone. */
  see(name: string, pod: Pod | undefined): void
  /** The pods that this process may send to now, by name. */
  seeWarm(names: ReadonlySet<string>): void
}

export type StartPhasesOptions = {
  readonly registry: Registry
  /** Whether this process is the one that tells; all would count every pod several times. */
  readonly tells: () => boolean
  /** A pod was ready so many seconds after it was made. */
  readonly ready: (pool: string, seconds: number) => void
  readonly clock?: Clock
}

/** From half a second, for a small model whose image is there, to an hour. */
const buckets = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600]

/** A pod that is older when it is first seen was there before we looked. Leaves room for clocks that differ. */
const seenMs = 30_000

type Start = {
  readonly madeAt: number
  at: number
  next: number
  readonly pool: string
  readonly uid: string | undefined
}

export function startPhaseRecorder({ registry, tells, ready, clock = systemClock }: StartPhasesOptions): StartPhases {
  const seconds = new Histogram({
    name: 'matte_pod_start_phase_seconds',
    help: 'Time of one part of the start of a pod: scheduled, pulled, started, loaded, warm',
    labelNames: ['phase'],
    buckets,
    registers: [registry],
  })
  for (const phase of startPhases) seconds.zero({ phase })
  const starts = new Map<string, Start>()

  /** Counts the phases up to `phase` as over now. Several at once were too quick to be told apart. */
  function reach(start: Start, phase: StartPhase): void {
    const now = clock.monotonicMs()
    for (let index = start.next; index <= startPhases.indexOf(phase); index++) {
      if (tells()) seconds.observe({ phase: startPhases[index] ?? phase }, (now - start.at) / 1000)
      start.at = now
      start.next = index + 1
      if (startPhases[index] === 'loaded') ready(start.pool, (now - start.madeAt) / 1000)
    }
  }

  function begin(name: string, pod: Pod, reached: StartPhase | undefined): Start | undefined {
    const pool = pod.metadata.labels?.[poolLabel]
    const ageMs = clock.nowMs() - Date.parse(pod.metadata.creationTimestamp ?? '')
    if (pool === undefined || reached !== undefined || !(ageMs < seenMs)) return undefined
    const now = clock.monotonicMs()
    const start: Start = { madeAt: now, at: now, next: 0, pool, uid: pod.metadata.uid }
    starts.set(name, start)
    return start
  }

  return {
    see: (name, pod) => {
      const known = starts.get(name)
      const isOver = pod === undefined || pod.metadata.deletionTimestamp !== undefined || restarts(pod) > 0
      if (isOver || (known && known.uid !== pod.metadata.uid)) starts.delete(name)
      if (isOver) return
      const reached = reachedBy(pod)
      const start = starts.get(name) ?? begin(name, pod, reached)
      if (start && reached) reach(start, reached)
    },
    seeWarm: (names) => {
      for (const [name, start] of starts) {
        if (start.next < startPhases.indexOf('warm') || !names.has(name)) continue
        reach(start, 'warm')
        starts.delete(name)
      }
    },
  }
}

const restarts = (pod: Pod): number => tritonOf(pod)?.restartCount ?? 0

function reachedBy(pod: Pod): StartPhase | undefined {
  const triton = tritonOf(pod)
  if (isReady(pod)) return 'loaded'
  if (triton?.started === true) return 'started'
  if (triton?.state?.running !== undefined) return 'pulled'
  const scheduled = pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'True')
  return scheduled ? 'scheduled' : undefined
}
