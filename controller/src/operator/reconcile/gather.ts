// Reads everything that a decision about one pool needs: objects from the caches, demand from the database, and reports
// of the pods. Nothing here writes. Background requests requeue the pool when they complete.

import { shareSlowerThan } from '@matte/core/latency'
import type { Clock } from '@matte/core/runtime/clock'
import type { Demand } from '@matte/core/scale/demand'
import {
  type Deployment,
  type KubeObject,
  keyOfObject,
  type Pod,
  type PodDisruptionBudget,
  type Service,
} from '../kube/objects.ts'
import { elapsedSince } from '../pool/elapsed-times.ts'
import { modelsAnnotation, revisionLabel } from '../pool/labels.ts'
import { type OwnerRequests, readRequests } from '../pool/owner-requests.ts'
import { type RevisionModel, rememberModels } from '../pool/revision-models.ts'
import type { RoutedModel, ServedPools } from '../pool/served-pools.ts'
import { countPods, type DeploymentObservation, type PoolObservation } from '../pool/status/observation.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import type { RequestCounts } from '../rollout/gate.ts'
import { boundsInForce } from '../scale/bounds.ts'
import { stabilizationSecondsFor, startMemory, unmeasuredStartSeconds } from '../scale/decide.ts'
import type { EffectiveScaling, ScaleInput } from '../scale/decision.ts'
import type { BuildRecord } from '../specs/build-record.ts'
import type { TargetBuild } from '../specs/choose-target.ts'
import { countsByRevision, type DemandReader, type DemandReading } from './observe/demand-reader.ts'
import type { LiveIndex } from './observe/live-index.ts'
import { observeModels } from './observe/observe-models.ts'
import { missingSourcesOf } from './observe/observe-pods.ts'
import { observeBuilder, observeTarget } from './observe/observe-target.ts'
import { collectPodReports, isUsable, type PodReporters } from './observe/pod-reports.ts'
import { type PoolMemory, startSecondsOf, timetableOf } from './pool-memory.ts'

export type World = PodReporters & {
  /** Pools by name; the other objects by namespace and name, and by their pool. */
  readonly pools: LiveIndex<TritonPool>
  readonly deployments: LiveIndex<Deployment>
  readonly pods: LiveIndex<Pod>
  readonly services: LiveIndex<Service>
  readonly budgets: LiveIndex<PodDisruptionBudget>
  readonly served: () => ServedPools
  readonly demand: DemandReader
  readonly clock: Clock
}

type PoolObjects = {
  readonly target: string
  readonly targetBuild: TargetBuild
  readonly missingRecords: ReadonlyMap<string, BuildRecord>
  readonly requests: OwnerRequests
  readonly deployments: ReadonlyMap<string, Deployment>
  readonly services: ReadonlyMap<string, Service>
  readonly budget: PodDisruptionBudget | undefined
  readonly pods: readonly Pod[]
}

export type Observed = PoolObjects & {
  readonly pool: TritonPool
  readonly usable: ReadonlySet<string>
  readonly namesOf: (revision: string) => readonly string[]
  readonly observation: PoolObservation
  readonly reading: DemandReading | undefined
  readonly requestCounts: ReadonlyMap<string, RequestCounts>
  readonly scale: ScaleInput
  readonly now: Date
  readonly nowMs: number
}

/** Undefined if the pool does not exist or is being deleted; Kubernetes then deletes its objects. */
export async function gather(world: World, name: string, memory: PoolMemory): Promise<Observed | undefined> {
  const { reading, failure } = await world.demand.latest(name)
  const pool = world.pools.get(name)
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return undefined
  const now = new Date(world.clock.nowMs())
  const nowMs = world.clock.monotonicMs()
  const objects = gatherObjects(world, pool)
  const { modelsOf, routedIn, unroutedIn } = gatherModels(world.served(), pool, objects)
  const reports = collectPodReports(world, { pool, ...objects, unroutedIn, modelsOf })
  rememberSlots(world, pool, memory)
  const timetable = timetableOf(memory, pool)
  const scaling = scalingOf(pool, timetable.at(now))
  const demand = reading && demandOf(reading, pool)
  const startSeconds = startSecondsOf(memory)
  const { modelVersions: _, ...conflicts } = world.served().of(pool)
  const pods = reports.map(({ pod }) => pod)
  const observation: PoolObservation = {
    pods,
    deployments: observeDeployments(objects, memory),
    models: observeModels(modelsOf, reports),
    modelsOf,
    builder: observeBuilder(pool, objects.deployments, objects),
    demand: reading && demand && { ...demand, at: reading.at, ageSeconds: (nowMs - reading.atMs) / 1000 },
    ...(failure !== undefined && { demandFailure: failure }),
    ...conflicts,
    missingSources: missingSourcesOf(pool, pods),
    badSchedules: timetable.errors,
    bounds: boundsInForce(scaling),
    slotsPerPod: memory.slotsPerPod,
    startSeconds,
    stabilizationWindowSeconds: stabilizationSecondsFor(scaling, startSeconds ?? unmeasuredStartSeconds),
  }
  return {
    ...objects,
    pool,
    usable: new Set(reports.filter((one) => isUsable(modelsOf(one.pod.revision), one)).map(({ pod }) => pod.name)),
    namesOf: perRevision((revision) => routedIn(revision).flatMap(({ modelVersions }) => modelVersions)),
    observation,
    reading,
    requestCounts: countsByRevision(pool, reading, {
      elapsed: (time) => elapsedSince(memory.elapsed, time, { now, nowMs }),
      nowMs,
    }),
    scale: scaleInput(pool, observation, { demand, scaling, memory, nowMs }),
    now,
    nowMs,
  }
}

function gatherObjects({ deployments, services, budgets, pods }: World, pool: TritonPool): PoolObjects {
  const key = keyOfObject(pool)
  const ofPool = byRevision(deployments.of(key).filter((object) => isOf(pool, object)))
  const requests = readRequests(pool.metadata.annotations)
  const { targetBuild, missingRecords } = observeTarget(pool, ofPool, requests)
  return {
    target: targetBuild.revision,
    targetBuild,
    missingRecords,
    requests,
    deployments: ofPool,
    services: byRevision(services.of(key).filter((object) => isOf(pool, object))),
    budget: budgets.get(key),
    pods: pods.of(key),
  }
}

/** False for an object of a deleted pool of the same name, which Kubernetes has yet to delete. */
const isOf = ({ metadata: { uid } }: TritonPool, { metadata }: KubeObject): boolean =>
  metadata.ownerReferences?.every((owner) => owner.controller !== true || owner.uid === uid) ?? true

const byRevision = <T extends Deployment | Service>(objects: readonly T[]): Map<string, T> =>
  new Map(objects.map((object) => [object.metadata.labels?.[revisionLabel] ?? '', object]))

/** Models of each revision, and those routed to this pool: an older pool may serve the same public name. */
function gatherModels(served: ServedPools, pool: TritonPool, { target, deployments }: PoolObjects) {
  const written = (revision: string): string | undefined =>
    deployments.get(revision)?.metadata.annotations?.[modelsAnnotation]
  const modelsOf = (revision: string): readonly RevisionModel[] => rememberModels({ pool, target, written }, revision)
  const routedIn = perRevision((revision): readonly RoutedModel[] => served.routed(pool, modelsOf(revision)))
  const unroutedIn = perRevision((revision) => {
    const routed = new Set(routedIn(revision).map(({ tritonModel }) => tritonModel))
    return modelsOf(revision).flatMap((model) => (routed.has(model.name) ? [] : [model.name]))
  })
  return { modelsOf, routedIn, unroutedIn }
}

function perRevision<T>(of: (revision: string) => T): (revision: string) => T {
  const known = new Map<string, T>()
  return (revision) => {
    const value = known.get(revision) ?? of(revision)
    known.set(revision, value)
    return value
  }
}

function scalingOf({ spec }: TritonPool, schedule: EffectiveScaling['schedule']): EffectiveScaling {
  const { target, ...scaling } = spec.scaling
  return { ...scaling, ...target, schedule }
}

function rememberSlots({ source }: World, { metadata, spec }: TritonPool, memory: PoolMemory): void {
  // A pod on probation has one slot, which is not representative.
  const own = source.pods().filter(({ pool, onProbation }) => pool === metadata.name && !onProbation)
  const most = Math.max(0, ...own.map(({ podSlots }) => podSlots))
  if (most > 0) memory.slotsPerPod = most
  else memory.slotsPerPod ??= spec.slotsPerPod
}

function demandOf({ demand }: DemandReading, { spec }: TritonPool): Demand {
  const { latencyBuckets, perRevision: _, ...counts } = demand
  return { ...counts, missedShare: shareSlowerThan(latencyBuckets, spec.scaling.target.p95Seconds) }
}

/** Includes the target revision's Deployment if the API server refuses to create it. */
function observeDeployments({ target, deployments }: PoolObjects, { refusals }: PoolMemory): DeploymentObservation[] {
  const refused = [...refusals.values()].find(({ revision = target }) => revision === target)
  const seen = [...deployments].map(([revision, { spec, status }]): DeploymentObservation => {
    const failure = status?.conditions?.find(({ type, status: value }) => type === 'ReplicaFailure' && value === 'True')
    const { reason = '', message = '' } = failure ?? (revision === target ? refused : undefined) ?? {}
    return { revision, replicas: spec.replicas ?? 0, ...(message && { replicaFailure: { reason, message } }) }
  })
  if (refused === undefined || deployments.has(target)) return seen
  const { reason, message } = refused
  return [...seen, { revision: target, replicas: 1, replicaFailure: { reason, message } }]
}

function scaleInput(
  { status }: TritonPool,
  { pods, deployments, demand: read, startSeconds }: PoolObservation,
  { demand, scaling, memory, nowMs }: Pick<ScaleInput, 'demand' | 'scaling'> & { memory: PoolMemory; nowMs: number },
): ScaleInput {
  const { ready, replicas, draining } = countPods(pods)
  const nowSeconds = nowMs / 1000
  memory.ledSinceMs ??= nowMs
  const ledSeconds = (nowMs - memory.ledSinceMs) / 1000
  // A lost status must not cost the running pods.
  const current = status?.desiredReplicas ?? deployments.reduce((sum, one) => sum + one.replicas, 0)
  return {
    nowSeconds,
    scaling,
    demand,
    demandAgeSeconds: read?.ageSeconds ?? ledSeconds,
    ledSeconds,
    slotsPerPod: memory.slotsPerPod ?? 1,
    pods: { current, ready, starting: replicas - ready, draining },
    startSeconds: startSeconds ?? unmeasuredStartSeconds,
    memory: memory.scale ?? startMemory(nowSeconds, current),
  }
}
