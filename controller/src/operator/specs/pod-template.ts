// The pod of a pool: restricted as Kubernetes' strictest profile asks, and in no hurry to go.

import { poolLabels, poolSelector } from '../pool/labels.ts'
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { buildChecksumContainers, checksumContainer } from './checksum-container.ts'
import { isObject, type Json, type JsonObject, mergePatch } from './merge-patch.ts'
import { claimMountPath, claimsOf, containerArguments, ports } from './triton-arguments.ts'

export type PodTemplate = {
  readonly metadata: JsonObject & { readonly labels: Readonly<Record<string, string>> }
  readonly spec: JsonObject
}

/** The container that everything here is about; a patch may add others. */
export const tritonContainer = 'triton'

const seconds = (path: string, periodSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: ports.http },
  periodSeconds,
  failureThreshold,
  // A pod whose cores are all busy with images answers late, which is no reason to take it out.
  timeoutSeconds: 5,
})

/**
 * Triton opens its ports after its models have loaded or failed to, so it is not alive until then: half an hour, for
 * models that build their engine at the first start. Then readiness follows the models, and liveness asks only whether
 * anybody is there; a minute without an answer is a hang.
 */
const probes = {
  startupProbe: seconds('/v2/health/live', 1, 1_800),
  readinessProbe: seconds('/v2/health/ready', 2, 3),
  livenessProbe: seconds('/v2/health/live', 10, 6),
}

/** The uid of `triton-server` in the official image. */
const user = 1000

/**
 * The pod template of a pool, without the label of its revision, which is named after it. The pod patch is laid over it
 * at the end and cannot take our labels away.
 */
export function buildPodTemplate({ metadata, spec }: TritonPool): PodTemplate {
  const checksums = spec.models.flatMap(({ name, checksum }) => (checksum === undefined ? [] : `${name}=${checksum}`))
  const labels = poolLabels(metadata.name)
  const template: JsonObject = {
    metadata: {
      labels,
      // Models that change in place are a new revision when their checksum says so.
      ...(checksums.length > 0 && { annotations: { 'matte.dev/checksums': checksums.join() } }),
    },
    spec: buildPodSpec(spec, { pool: metadata.name, uid: metadata.uid ?? '' }),
  }
  const patched = mergePatch(template, (spec.podPatch ?? {}) as JsonObject)
  const patchedMetadata = objectAt(patched, 'metadata')
  return {
    metadata: {
      ...patchedMetadata,
      labels: { ...(objectAt(patchedMetadata, 'labels') as Record<string, string>), ...labels },
    },
    spec: withChecks(objectAt(patched, 'spec'), spec),
  }
}

/** The comparison comes last, after what a patch may have to fetch the models, and cannot be patched away. */
function withChecks(podSpec: JsonObject, spec: PoolSpec): JsonObject {
  const checks = buildChecksumContainers(spec).map((container) => ({
    ...container,
    // As much as Triton's: of an init container nothing is added to a pod's, and a quota may ask for it to be said.
    // From the pool's spec, so JSON; an interface has no index signature to say so.
    resources: spec.resources as unknown as JsonObject,
    ...sharedBy(spec),
  }))
  if (checks.length === 0) return podSpec
  const patched = Array.isArray(podSpec.initContainers) ? podSpec.initContainers : []
  const others = patched.filter((one) => !isObject(one) || one.name !== checksumContainer)
  return { ...podSpec, initContainers: [...others, ...checks] }
}

function objectAt(value: Json, key: string): JsonObject {
  const member = isObject(value) ? (value[key] ?? null) : null
  return isObject(member) ? member : {}
}

function buildPodSpec(spec: PoolSpec, { pool, uid }: { pool: string; uid: string }): JsonObject {
  const { nodeSelector, tolerations, affinity, drain } = spec
  return {
    automountServiceAccountToken: false,
    // Variables for each Service of the namespace would slow the start and change what a pod sees.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: drain.graceSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations && { tolerations: tolerations as Json[] }),
    ...(affinity && { affinity: affinity as JsonObject }),
    topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      // Better crowded than pending.
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: poolSelector(pool) },
    })),
    containers: [buildContainer(spec, uid)],
    volumes: [
      { name: 'tmp', emptyDir: {} },
      // Backends in Python hand tensors over in shared memory; the runtime's own 64 MiB hold two instances.
      { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } },
      ...claimsOf(spec).map((claimName, index) => ({
        name: `models-${index}`,
        persistentVolumeClaim: { claimName, readOnly: true },
      })),
    ],
  }
}

function buildContainer(spec: PoolSpec, uid: string): JsonObject {
  const { image, imagePullPolicy, resources, drain } = spec
  return {
    name: tritonContainer,
    image,
    imagePullPolicy,
    args: containerArguments(spec, uid),
    env: [{ name: 'HOME', value: '/tmp' }, ...s3Environment(spec)],
    ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    resources: resources as unknown as JsonObject,
    ...probes,
    // The node waits here, and Triton knows of nothing, until every controller has stopped sending.
    lifecycle: { preStop: { sleep: { seconds: drain.routeStopSeconds } } },
    ...sharedBy(spec),
  }
}

/** Of each container: what it may do and what it sees. */
function sharedBy(spec: PoolSpec): JsonObject {
  return {
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'shm', mountPath: '/dev/shm' },
      ...claimsOf(spec).map((_, index) => ({
        name: `models-${index}`,
        mountPath: claimMountPath(index),
        readOnly: true,
      })),
    ],
  }
}

/** Keys of the Secret that Triton reads from its environment, and whether it can do without. */
const s3Keys = {
  AWS_ACCESS_KEY_ID: false,
  AWS_SECRET_ACCESS_KEY: false,
  AWS_SESSION_TOKEN: true,
  AWS_DEFAULT_REGION: true,
} as const

function s3Environment({ models }: PoolSpec): JsonObject[] {
  const name = models.find(({ source }) => source.s3?.secretName !== undefined)?.source.s3?.secretName
  if (name === undefined) return []
  return Object.entries(s3Keys).map(([key, optional]) => ({
    name: key,
    valueFrom: { secretKeyRef: { name, key, optional } },
  }))
}
