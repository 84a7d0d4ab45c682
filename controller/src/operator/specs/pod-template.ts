import { poolLabels, poolSelector, revisionLabel } from '../pool/labels.ts'
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { isObject, type Json, type JsonObject, mergePatch } from './json.ts'
import { listenAnnotation } from './platform.ts'
import {
  claimMountPath,
  claimsOf,
  configName,
  containerArguments,
  ports,
  readScript,
  repositoryOf,
} from './triton-arguments.ts'

export type PodTemplate = {
  readonly metadata: JsonObject & { readonly labels: Readonly<Record<string, string>> }
  readonly spec: JsonObject
}

export const tritonContainer = 'triton'

const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: ports.http },
  periodSeconds,
  failureThreshold,
  // A pod with busy cores responds late, which is no reason to remove it.
  timeoutSeconds: 5,
})

/** Triton opens its ports after loading, which takes up to half an hour for models that build an engine. */
const probes = {
  startupProbe: probe('/v2/health/live', 1, 1_800),
  readinessProbe: probe('/v2/health/ready', 2, 3),
  livenessProbe: probe('/v2/health/live', 10, 6),
}

/** /tmp holds configurations, models from S3 (at most 0.97 GB each, docs/models.md) and CUDA's cache (1 GiB). */
const localVolumes = [
  { name: 'tmp', emptyDir: { sizeLimit: '10Gi' } },
  // Python backends pass tensors in shared memory; the runtime's default of 64 MiB fits two instances.
  { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } },
]

const user = 1000

/** Has no revision label, which is a hash of the template. The pod patch cannot remove the pool's labels. */
export function buildPodTemplate({ metadata, spec }: TritonPool): PodTemplate {
  const checksums = spec.models.flatMap(({ name, checksum }) => (checksum === undefined ? [] : `${name}=${checksum}`))
  const labels = poolLabels(metadata.name)
  const template: JsonObject = {
    metadata: {
      labels,
      annotations: {
        // Lets Cluster Autoscaler remove nodes with these pods.
        'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': localVolumes.map(({ name }) => name).join(),
        // A model changed in place becomes a new revision by its checksum.
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
  // Kubernetes rejects both together.
  return own.privileged === true ? container : { ...container, securityContext: { ...unprivileged, ...own } }
}

/** Checksums run last, after a patch's init containers that may fetch the models, and cannot be patched away. */
function withChecks(podSpec: JsonObject, spec: PoolSpec): JsonObject {
  const checks = buildChecksumContainers(spec).map((container) => ({
    ...container,
    // Triton's resources, which a quota may require; an init container's do not add to the pod's. JSON by content, but
    // an interface has no index signature.
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
    // Environment variables for each Service would slow down the start.
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
      // Sharing a node is better than pending.
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: poolSelector(metadata.name) },
      // Spreads each revision on its own, so draining pods do not affect new ones. Default since Kubernetes 1.27; older
      // API servers drop the field.
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
    // Delays the stop of Triton until workers have stopped sending.
    lifecycle: { preStop: { sleep: { seconds: drain.routeStopSeconds } } },
    ...sharedBy(spec),
  }
}

const unprivileged = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }

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

const s3Keys = {
  AWS_ACCESS_KEY_ID: false,
  AWS_SECRET_ACCESS_KEY: false,
  AWS_SESSION_TOKEN: true,
  AWS_DEFAULT_REGION: true,
} as const

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

export const checksumContainer = 'checksums'

const compareAgainSeconds = 60

/** Triton downloads models from S3 itself, so there is no file to compare. */
export function buildChecksumContainers(spec: PoolSpec): JsonObject[] {
  const claims = claimsOf(spec)
  const compared = spec.models.flatMap(({ name, checksum, source }) =>
    checksum === undefined || source.s3 !== undefined
      ? []
      : [`${repositoryOf(source, claims)}/${name}`, name, checksum],
  )
  if (compared.length === 0) return []
  const script = ['sh', '-c', readScript('compare-checksums.sh'), 'sh']
  // Bypasses the verbose entry point of Triton's image.
  const command = [...script, String(compareAgainSeconds), configName(spec), ...compared]
  return [{ name: checksumContainer, image: spec.image, imagePullPolicy: spec.imagePullPolicy, command }]
}
