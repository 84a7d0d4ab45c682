// The pod template of a pool: within Kubernetes' restricted profile, and with time to drain.
import { poolLabels, poolSelector, revisionLabel } from '../pool/labels.ts'
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { buildChecksumContainers, checksumContainer } from './checksum-container.ts'
import { isObject, type Json, type JsonObject, mergePatch } from './merge-patch.ts'
import { listenAnnotation } from './platform.ts'
import { claimMountPath, claimsOf, containerArguments, ports } from './triton-arguments.ts'

export type PodTemplate = {
  readonly metadata: JsonObject & { readonly labels: Readonly<Record<string, string>> }
  readonly spec: JsonObject
}

export const tritonContainer = 'triton'

const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: ports.http },
  periodSeconds,
  failureThreshold,
  // A pod whose cores are all busy answers late, which is no reason to remove it from the Service.
  timeoutSeconds: 5,
})

/**
 * Triton opens its ports after its models have loaded or failed to, which may take half an hour for models that build
 * their engine at the first start. After that a minute without an answer counts as a hang.
 */
const probes = {
  startupProbe: probe('/v2/health/live', 1, 1_800),
  readinessProbe: probe('/v2/health/ready', 2, 3),
  livenessProbe: probe('/v2/health/live', 10, 6),
}

/**
 * The kubelet evicts a pod whose volume passes its limit. In /tmp are copies of configurations, the models that Triton
 * downloads from S3 (BiRefNet, the largest of docs/models.md, has 0.97 GB in fp32) and CUDA's cache of kernels (1 GiB
 * by default, CUDA_CACHE_MAXSIZE). So 10Gi has room for nine such models; podPatch sets another limit.
 */
const localVolumes = [
  { name: 'tmp', emptyDir: { sizeLimit: '10Gi' } },
  // Python backends pass tensors in shared memory; the runtime's default of 64 MiB is enough for two instances.
  { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } },
]

/** The uid of `triton-server` in the official image. */
const user = 1000

/** Without the label of the revision, which is a hash of it. The pod patch cannot remove our labels. */
export function buildPodTemplate({ metadata, spec }: TritonPool): PodTemplate {
  const checksums = spec.models.flatMap(({ name, checksum }) => (checksum === undefined ? [] : `${name}=${checksum}`))
  const labels = poolLabels(metadata.name)
  const template: JsonObject = {
    metadata: {
      labels,
      annotations: {
        // Without it Cluster Autoscaler removes no node that has such a pod. An older one ignores it.
        'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': localVolumes.map(({ name }) => name).join(),
        // A model that changes in place becomes a new revision by its checksum.
        ...(checksums.length > 0 && { 'matte.dev/checksums': checksums.join() }),
      },
    },
    spec: buildPodSpec(spec, metadata),
  }
  const patched = mergePatch(template, (spec.podPatch ?? {}) as JsonObject)
  const patchedMetadata = objectAt(patched, 'metadata')
  return {
    metadata: {
      ...patchedMetadata,
      labels: { ...(objectAt(patchedMetadata, 'labels') as Record<string, string>), ...labels },
    },
    spec: withChecks(withSecurity(objectAt(patched, 'spec')), spec),
  }
}

/** A container that a patch brings has what ours has, where it says nothing else. */
function withSecurity(podSpec: JsonObject): JsonObject {
  const lists = ['containers', 'initContainers'].flatMap((name): [string, Json][] => {
    const list = podSpec[name] ?? null
    return Array.isArray(list) ? [[name, list.map(withContainerSecurity)]] : []
  })
  return { ...podSpec, ...Object.fromEntries(lists) }
}

function withContainerSecurity(container: Json): Json {
  if (!isObject(container)) return container
  const own = objectAt(container, 'securityContext')
  // Kubernetes refuses the two together, and capabilities mean nothing then.
  return own.privileged === true ? container : { ...container, securityContext: { ...unprivileged, ...own } }
}

/** The checksums come last, after a patch's init containers that may fetch the models, and cannot be patched away. */
function withChecks(podSpec: JsonObject, spec: PoolSpec): JsonObject {
  const checks = buildChecksumContainers(spec).map((container) => ({
    ...container,
    // Triton's resources: a quota may require them, and an init container's do not add to the pod's.
    // They are JSON, but an interface has no index signature to say so.
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

function buildPodSpec(spec: PoolSpec, metadata: TritonPool['metadata']): JsonObject {
  const { nodeSelector, tolerations, affinity, drain } = spec
  return {
    automountServiceAccountToken: false,
    // Environment variables for each Service of the namespace would slow down the start.
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
      // Better on one node than pending.
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: poolSelector(metadata.name) },
      // Pods of the former revision are going, so they must not decide where the new ones start. On by default since
      // Kubernetes 1.27; an API server without it drops the field and spreads both revisions together.
      matchLabelKeys: [revisionLabel],
    })),
    containers: [buildContainer(spec, metadata)],
    volumes: [
      ...localVolumes,
      ...claimsOf(spec).map((claimName, index) => ({
        name: `models-${index}`,
        persistentVolumeClaim: { claimName, readOnly: true },
      })),
    ],
  }
}

function buildContainer(spec: PoolSpec, { uid = '', annotations }: TritonPool['metadata']): JsonObject {
  const { image, imagePullPolicy, resources, drain } = spec
  return {
    name: tritonContainer,
    image,
    imagePullPolicy,
    args: containerArguments(spec, { uid, ipv6: annotations?.[listenAnnotation] === 'ipv6' }),
    env: [{ name: 'HOME', value: '/tmp' }, ...s3Environment(spec)],
    ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    resources: resources as unknown as JsonObject,
    ...probes,
    // The kubelet waits here before it stops Triton, until every controller has stopped sending.
    lifecycle: { preStop: { sleep: { seconds: drain.routeStopSeconds } } },
    ...sharedBy(spec),
  }
}

const unprivileged = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }

/** What every container of ours has. */
function sharedBy(spec: PoolSpec): JsonObject {
  return {
    securityContext: { ...unprivileged, readOnlyRootFilesystem: true },
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

/** Keys of the Secret that Triton reads from its environment, and whether they are optional. */
const s3Keys = {
  AWS_ACCESS_KEY_ID: false,
  AWS_SECRET_ACCESS_KEY: false,
  AWS_SESSION_TOKEN: true,
  AWS_DEFAULT_REGION: true,
} as const

/** The Secret of the models from S3. */
export const secretOf = ({ models }: PoolSpec): string | undefined =>
  models.find(({ source }) => source.s3?.secretName !== undefined)?.source.s3?.secretName

function s3Environment(spec: PoolSpec): JsonObject[] {
  const name = secretOf(spec)
  if (name === undefined) return []
  return Object.entries(s3Keys).map(([key, optional]) => ({
    name: key,
    valueFrom: { secretKeyRef: { name, key, optional } },
  }))
}
