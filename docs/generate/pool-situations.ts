// Ten situations of a pool, each as what was seen and decided, and the status that follows. docs/tritonpool.md shows
// them, so that the document is what the controller writes.

import type { PoolStatus, RolloutStatus } from '@matte/controller/operator/pool/pool-status'
import type {
  DemandObservation,
  PodObservation,
  PoolObservation,
} from '@matte/controller/operator/pool/status/observation'
import { buildStatus } from '@matte/controller/operator/pool/status/status'
import { group, kind, type PoolSpecInput, version, withDefaults } from '@matte/controller/operator/pool/triton-pool'
import { boundsInForce } from '@matte/controller/operator/scale/bounds'
import {
  decideReplicas,
  stabilizationSecondsFor,
  startMemory,
  unmeasuredStartSeconds,
} from '@matte/controller/operator/scale/decide'

export type Situation = {
  readonly id: string
  readonly title: string
  /** The moment in which it is looked at. */
  readonly now: Date
  /** What the user wrote, with what the API server adds of its own accord. */
  readonly pool: { readonly metadata: Metadata; readonly spec: PoolSpecInput; readonly status: PoolStatus }
}

type Metadata = { name: string; namespace: string; generation: number; creationTimestamp: string }

const madeAt = new Date('2026-11-21T08:00:00Z')
const at = (seconds: number): Date => new Date(madeAt.getTime() + seconds * 1000)

/** The pool of all ten, as its user wrote it. */
const plainSpec: PoolSpecInput = {
  default: true,
  models: [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }],
  scaling: { minReplicas: 1, maxReplicas: 8 },
}

const stable = '7c1f9a3e'
const canary = 'e40b52d8'

/** One look of the controller. What is not given is as it is in a pool in which nothing happens. */
type Look = {
  readonly seconds: number
  readonly pods: readonly PodObservation[]
  readonly demand?: Partial<DemandObservation>
  readonly rollout?: RolloutStatus
} & Partial<Pick<PoolObservation, 'models' | 'deployments' | 'startSeconds' | 'demandFailure'>>

const quiet = {
  arrivals3s: 0,
  arrivals30s: 0,
  backlog: 0,
  batchSlots: 0,
  batchProcessing: 0,
  processing: 0,
  oldestSeconds: 0,
}
const usual = { serviceSeconds: 0.31, p95Seconds: 0.94, missedShare: 0 }
/** Of a pool that has never served. */
const never = { serviceSeconds: undefined, p95Seconds: undefined, missedShare: undefined }
const measuredStartSeconds = 6.2

/** Runs the controller's own decision and status over the looks, one after the other, and returns the last status. */
function watch(spec: PoolSpecInput, generation: number, looks: readonly Look[]): PoolStatus {
  const metadata = { name: 'u2netp', namespace: 'matte', generation, creationTimestamp: madeAt.toISOString() }
  const pool = { apiVersion: `${group}/${version}`, kind, metadata, spec: withDefaults(spec) }
  const { scaling } = pool.spec
  const effective = { ...scaling, ...scaling.target }
  let memory = startMemory(0, 0)
  let previous: PoolStatus | undefined
  for (const look of looks) {
    const now = at(look.seconds)
    const startSeconds = 'startSeconds' in look ? look.startSeconds : measuredStartSeconds
    const demand = { at: now, ageSeconds: 0, ...quiet, ...usual, ...look.demand }
    const ready = look.pods.filter((pod) => pod.ready && !pod.draining).length
    const draining = look.pods.filter((pod) => pod.draining).length
    const decision = decideReplicas({
      nowSeconds: look.seconds,
      scaling: effective,
      demand,
      demandAgeSeconds: demand.ageSeconds,
      slotsPerPod: 2,
      pods: {
        current: previous?.desiredReplicas ?? 0,
        ready,
        starting: look.pods.length - ready - draining,
        draining,
      },
      startSeconds: startSeconds ?? unmeasuredStartSeconds,
      memory,
    })
    memory = decision.memory
    const observed: PoolObservation = {
      pods: look.pods,
      deployments: look.deployments ?? [{ revision: stable, replicas: decision.replicas }],
      models: look.models ?? [{ name: 'u2netp', revision: stable, state: ready > 0 ? 'ready' : 'unknown' }],
      demand,
      ...(look.demandFailure === undefined ? {} : { demandFailure: look.demandFailure }),
      duplicates: [],
      missingSources: [],
      badSchedules: [],
      bounds: boundsInForce(effective),
      slotsPerPod: startSeconds === undefined ? undefined : 2,
      startSeconds,
      stabilizationWindowSeconds: stabilizationSecondsFor(effective, startSeconds ?? unmeasuredStartSeconds),
    }
    const rollout = look.rollout ?? { stable, weight: 0, step: -1, since: '2026-11-21T08:00:00Z' }
    const target = rollout.failed?.revision ?? rollout.canary ?? stable
    previous = buildStatus({ pool, observed, decision, target, rollout, previous, leaderTerm: 4, now })
  }
  if (previous === undefined) throw new Error('a situation needs one look')
  return previous
}

type PodChanges = Partial<PodObservation> & { readonly madeSeconds?: number }

const pod = (suffix: string, { madeSeconds = 0, ...changes }: PodChanges = {}): PodObservation => {
  const revision = changes.revision ?? stable
  const name = `u2netp-${revision}-${revision === stable ? '6d5f9c7b88' : '5bb8f4c96d'}-${suffix}`
  const createdAt = at(madeSeconds)
  return { name, revision, phase: 'Running', ready: true, draining: false, createdAt, restarts: 0, ...changes }
}

const starting = (suffix: string, madeSeconds: number): PodObservation =>
  pod(suffix, { madeSeconds, phase: 'Pending', ready: false })

const one = [pod('x2k4q')]
const three = [pod('x2k4q'), pod('m7wzp'), pod('t9c5d')]
const four = [...three, pod('b6hnf')]

/** So many single images a second, for half a minute. */
const load = (rate: number, more: Partial<DemandObservation> = {}): Partial<DemandObservation> => ({
  arrivals3s: rate * 3,
  arrivals30s: rate * 30,
  processing: Math.ceil(rate * 0.31),
  ...more,
})
const burst = { arrivals3s: 60, arrivals30s: 66, backlog: 34, processing: 2, oldestSeconds: 2.1 }

/** A pool that serves with one pod, ten minutes after it was made. */
const settled: readonly Look[] = [
  { seconds: 1, pods: [], startSeconds: undefined },
  { seconds: 8, pods: one },
]

type Scenario = {
  readonly id: string
  readonly title: string
  readonly looks: readonly Look[]
  readonly spec?: PoolSpecInput
  readonly generation?: number
}

const scenarios: readonly Scenario[] = [
  {
    id: 'starting',
    title: 'Starting',
    looks: [
      {
        seconds: 1,
        pods: [],
        startSeconds: undefined,
        demand: never,
      },
      {
        seconds: 4,
        pods: [pod('x2k4q', { madeSeconds: 1, ready: false })],
        models: [{ name: 'u2netp', revision: stable, state: 'loading' }],
        startSeconds: undefined,
        demand: never,
      },
    ],
  },
  {
    id: 'scaling',
    title: 'Scaling',
    looks: [
      ...settled,
      { seconds: 605, pods: one, demand: burst },
      {
        seconds: 607,
        pods: [...one, starting('m7wzp', 605), starting('t9c5d', 605), starting('b6hnf', 605), starting('k8r2v', 605)],
        demand: {
          ...burst,
          arrivals3s: 58,
          arrivals30s: 98,
          backlog: 61,
          oldestSeconds: 3.4,
          p95Seconds: 2.71,
          missedShare: 0.093,
        },
      },
    ],
  },
  {
    id: 'at-zero',
    title: 'At zero',
    spec: { ...plainSpec, scaling: { minReplicas: 0, maxReplicas: 8 } },
    looks: [
      {
        seconds: 40,
        pods: [],
        demand: { backlog: 1, arrivals3s: 1, arrivals30s: 1, oldestSeconds: 0.4 },
        startSeconds: undefined,
      },
      { seconds: 46, pods: one, demand: { arrivals30s: 1, processing: 1 } },
      { seconds: 130, pods: one, demand: { p95Seconds: undefined, missedShare: undefined } },
      { seconds: 133, pods: [pod('x2k4q', { draining: true, drainReason: 'ScaleDown' })] },
      { seconds: 140, pods: [], demand: { p95Seconds: undefined, missedShare: undefined } },
    ],
  },
  {
    id: 'draining',
    title: 'Draining',
    looks: [
      ...settled,
      { seconds: 600, pods: one, demand: load(16) },
      { seconds: 607, pods: four, demand: load(16) },
      { seconds: 700, pods: four, demand: load(6) },
      {
        seconds: 702,
        pods: [pod('x2k4q'), pod('m7wzp'), ...[pod('t9c5d'), pod('b6hnf')].map(leaving)],
        demand: load(6),
      },
    ],
  },
  {
    id: 'image-missing',
    title: 'The image is missing',
    spec: { ...plainSpec, image: 'registry.example.com/triton:26.70-py3' },
    looks: [
      { seconds: 1, pods: [], startSeconds: undefined, demand: never },
      {
        seconds: 20,
        startSeconds: undefined,
        demand: never,
        pods: [
          pod('x2k4q', {
            madeSeconds: 1,
            phase: 'Pending',
            ready: false,
            waiting: {
              reason: 'ImagePullBackOff',
              message:
                'Back-off pulling image "registry.example.com/triton:26.70-py3": ErrImagePull: failed to resolve ' +
                'reference "registry.example.com/triton:26.70-py3": not found',
            },
          }),
        ],
      },
    ],
  },
  {
    id: 'model-broken',
    title: 'The model is broken',
    looks: [
      { seconds: 1, pods: [], startSeconds: undefined, demand: never },
      {
        seconds: 9,
        startSeconds: undefined,
        demand: never,
        pods: [pod('x2k4q', { madeSeconds: 1, ready: false })],
        models: [
          {
            name: 'u2netp',
            revision: stable,
            state: 'unavailable',
            failure: {
              pod: pod('x2k4q').name,
              message: "unable to find 'model.onnx' in /models/u2netp/1: version 1 of model u2netp has no file",
            },
          },
        ],
      },
    ],
  },
  {
    id: 'canary',
    title: 'A canary',
    generation: 2,
    spec: { ...plainSpec, image: 'registry.example.com/triton:26.09-py3' },
    looks: [
      ...settled,
      { seconds: 600, pods: one, demand: load(11) },
      { seconds: 607, pods: three, demand: load(11) },
      {
        seconds: 640,
        pods: [pod('x2k4q'), pod('m7wzp'), pod('q4j8s', { revision: canary, madeSeconds: 620 })],
        deployments: [
          { revision: stable, replicas: 2 },
          { revision: canary, replicas: 1 },
        ],
        models: [stable, canary].map((revision) => ({ name: 'u2netp', revision, state: 'ready' })),
        demand: load(11),
        rollout: { stable, canary, weight: 10, step: 0, since: '2026-11-21T08:10:31Z' },
      },
    ],
  },
  {
    id: 'rolled-back',
    title: 'Rolled back',
    generation: 2,
    spec: { ...plainSpec, image: 'registry.example.com/triton:26.09-py3' },
    looks: [
      ...settled,
      { seconds: 600, pods: one, demand: load(11) },
      { seconds: 607, pods: three, demand: load(11) },
      {
        seconds: 660,
        pods: [...three, leaving(pod('q4j8s', { revision: canary, madeSeconds: 620 }))],
        demand: load(11),
        rollout: {
          stable,
          weight: 0,
          step: -1,
          since: '2026-11-21T08:10:58Z',
          failed: {
            revision: canary,
            reason: 'CanaryErrorRate',
            message: '9 of 52 images failed (2 % are allowed, the old revision has 0 %)',
            time: '2026-11-21T08:10:58Z',
          },
        },
      },
    ],
  },
  {
    id: 'quota-refused',
    title: 'The quota refuses',
    spec: { ...plainSpec, resources: { limits: { 'nvidia.com/gpu': 1 } } },
    looks: [
      ...settled,
      { seconds: 600, pods: one, demand: load(18) },
      {
        seconds: 608,
        pods: three,
        demand: load(18, { backlog: 9, oldestSeconds: 1.2 }),
        deployments: [
          {
            revision: stable,
            replicas: 4,
            replicaFailure: {
              reason: 'FailedCreate',
              message:
                'pods "u2netp-7c1f9a3e-6d5f9c7b88-b6hnf" is forbidden: exceeded quota: gpus, requested: ' +
                'requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=3, limited: requests.nvidia.com/gpu=3',
            },
          },
        ],
      },
    ],
  },
  {
    id: 'figures-stale',
    title: 'The figures are stale',
    looks: [
      ...settled,
      { seconds: 600, pods: one, demand: load(11) },
      { seconds: 607, pods: three, demand: load(11) },
      {
        seconds: 700,
        pods: three,
        demand: load(11, { at: at(651), ageSeconds: 49 }),
        demandFailure: 'connect ECONNREFUSED 10.96.31.7:5432',
      },
    ],
  },
]

function leaving(pod: PodObservation): PodObservation {
  return { ...pod, draining: true, drainReason: pod.revision === stable ? 'ScaleDown' : 'RevisionReplaced' }
}

export const situations: readonly Situation[] = scenarios.map(
  ({ id, title, looks, spec = plainSpec, generation = 1 }) => {
    const metadata = { name: 'u2netp', namespace: 'matte', generation, creationTimestamp: '2026-11-21T08:00:00Z' }
    const now = at(looks.at(-1)?.seconds ?? 0)
    return { id, title, now, pool: { metadata, spec, status: watch(spec, generation, looks) } }
  },
)
