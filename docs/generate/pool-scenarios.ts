// Reconcile passes before each situation of docs/situations/, as observations.

import type { RolloutStatus } from '@matte/controller/operator/pool/pool-status'
import type {
  DemandObservation,
  PodObservation,
  PoolObservation,
} from '@matte/controller/operator/pool/status/observation'
import type { PoolSpecInput } from '@matte/controller/operator/pool/triton-pool'

const madeAt = new Date('2026-11-21T08:00:00Z')
export const at = (seconds: number): Date => new Date(madeAt.getTime() + seconds * 1000)

/** The pool of all of them, as its user wrote it. */
export const plainSpec: PoolSpecInput = {
  default: true,
  models: [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }],
  scaling: { minReplicas: 1, maxReplicas: 8 },
}

export const stable = '7c1f9a3e'
const canary = 'e40b52d8'

type RolloutEvent = { readonly type?: 'Warning'; readonly reason: string; readonly message: string }

/** One reconcile pass. What is not given is as it is in a pool in which nothing happens. */
export type Pass = {
  readonly seconds: number
  readonly pods: readonly PodObservation[]
  readonly demand?: Partial<DemandObservation>
  readonly rollout?: RolloutStatus
  /** What a rollout emits in this pass; all other Events follow from the statuses. */
  readonly events?: readonly RolloutEvent[]
} & Partial<Pick<PoolObservation, 'models' | 'deployments' | 'startSeconds' | 'demandFailure'>>

/** Of a pool that has never served. */
const never = { serviceSeconds: undefined, p95Seconds: undefined, missedShare: undefined }

const tried = `Revision ${canary} is tried beside ${stable}: one pod first, without requests until it is ready.`
const rolledBack =
  `Revision ${canary} is rolled back and ${stable} serves on: ` +
  '9 of 52 requests failed (2 % are allowed, the old revision has 0 %).'

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

/** So many single requests a second, for half a minute. */
const load = (rate: number, more: Partial<DemandObservation> = {}): Partial<DemandObservation> => ({
  arrivals3s: rate * 3,
  arrivals30s: rate * 30,
  processing: Math.ceil(rate * 0.31),
  ...more,
})
const burst = { arrivals3s: 60, arrivals30s: 66, backlog: 34, processing: 2, oldestSeconds: 2.1 }

/** A pool that serves with one pod, ten minutes after it was made. */
const settled: readonly Pass[] = [
  { seconds: 1, pods: [], startSeconds: undefined },
  { seconds: 8, pods: one },
]

type Scenario = {
  /** The name of its file in `docs/situations/`. */
  readonly id: string
  readonly title: string
  readonly about: string
  readonly passes: readonly Pass[]
  readonly spec?: PoolSpecInput
  readonly generation?: number
}

export const scenarios: readonly Scenario[] = [
  {
    id: 'starting',
    title: 'Starting',
    about: 'The pool was created four seconds ago. One pod runs and loads its model.',
    passes: [
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
    about:
      'Twenty requests a second arrive at a pool with one pod. It wanted six pods within the second; four more have been created so far, and the requests that were late meanwhile show in `status.demand.missedShare`.',
    passes: [
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
    about:
      'With `scaling.minReplicas: 0`, nothing has arrived for as long as a pod is kept. The Events show how the pool was woken before.',
    spec: { ...plainSpec, scaling: { minReplicas: 0, maxReplicas: 8 } },
    passes: [
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
    about: 'The rush is over and two of four pods go. They get no more requests and finish those in flight.',
    passes: [
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
    about: '`spec.image` has a typing error in its tag.',
    spec: { ...plainSpec, image: 'registry.example.com/triton:26.70-py3' },
    passes: [
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
    about: 'Triton runs and reports why the model does not load. Its container is not restarted for that.',
    passes: [
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
    about: '`spec.image` was changed. The new revision is tried with a tenth of the requests.',
    generation: 2,
    spec: { ...plainSpec, image: 'registry.example.com/triton:26.09-py3' },
    passes: [
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
        events: [
          { reason: 'RolloutStarted', message: tried },
          { reason: 'RolloutStep', message: `Revision ${canary} gets 10 % of the requests for 60 s.` },
        ],
      },
    ],
  },
  {
    id: 'rolled-back',
    title: 'Rolled back',
    about: 'The new revision failed too many requests. The old revision serves, as it did all along.',
    generation: 2,
    spec: { ...plainSpec, image: 'registry.example.com/triton:26.09-py3' },
    passes: [
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
            message: '9 of 52 requests failed (2 % are allowed, the old revision has 0 %)',
            time: '2026-11-21T08:10:58Z',
          },
        },
        events: [{ type: 'Warning', reason: 'RolloutRolledBack', message: rolledBack }],
      },
    ],
  },
  {
    id: 'rollout-without-room',
    title: 'A rollout without room',
    about:
      '`spec.image` was changed, and every GPU is in use. ' +
      'The rollout has waited for ten minutes, and the old revision serves.',
    generation: 2,
    spec: {
      ...plainSpec,
      image: 'registry.example.com/triton:26.09-py3',
      resources: { limits: { 'nvidia.com/gpu': 1 } },
    },
    passes: [
      ...settled,
      { seconds: 600, pods: one, demand: load(11) },
      { seconds: 607, pods: three, demand: load(11) },
      {
        seconds: 1240,
        pods: [
          ...three,
          pod('q4j8s', {
            revision: canary,
            madeSeconds: 620,
            phase: 'Pending',
            ready: false,
            unschedulable: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
          }),
        ],
        deployments: [
          { revision: stable, replicas: 3 },
          { revision: canary, replicas: 1 },
        ],
        demand: load(11),
        rollout: {
          stable,
          canary,
          weight: 0,
          step: -1,
          since: '2026-11-21T08:10:20Z',
          waiting: { for: 'Room', since: '2026-11-21T08:10:21Z' },
        },
        events: [{ reason: 'RolloutStarted', message: tried }],
      },
    ],
  },
  {
    id: 'quota-refused',
    title: 'The quota refuses',
    about: 'Four pods are wanted, each with a GPU, and the quota of the namespace has GPUs for three.',
    spec: { ...plainSpec, resources: { limits: { 'nvidia.com/gpu': 1 } } },
    passes: [
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
    id: 'demand-stale',
    title: 'The demand is stale',
    about:
      'The database has not answered for 49 s. The pool keeps its pods; the message has the time of the last reading.',
    passes: [
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
