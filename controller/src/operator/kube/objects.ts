// The Kubernetes objects that this process reads and writes, with the members that it uses and no others. What the API
// server sends besides stays in the object and is not read. Members are absent, never null.

export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

type ObjectMeta = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
}

export type KubeObject = { apiVersion: string; kind: string; metadata: ObjectMeta }

type KubeCondition = {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason?: string
  message?: string
}

type LabelSelector = {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'; values?: string[] }[]
}

export type ContainerStatus = {
  name: string
  ready: boolean
  restartCount: number
  started?: boolean
  state?: ContainerState
  lastState?: ContainerState
}

export type ContainerState = {
  waiting?: { reason?: string; message?: string }
  running?: { startedAt?: string }
  terminated?: { exitCode: number; reason?: string; message?: string; startedAt?: string; finishedAt?: string }
}

export type Pod = KubeObject & {
  spec: { nodeName?: string; terminationGracePeriodSeconds?: number }
  status?: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
    podIP?: string
    conditions?: KubeCondition[]
    containerStatuses?: ContainerStatus[]
    initContainerStatuses?: ContainerStatus[]
  }
}

/** What a Deployment makes its pods from; its spec is built as data and only ever compared as a whole. */
type PodTemplate = {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec: { readonly [member: string]: unknown }
}

export type Deployment = KubeObject & {
  spec: {
    /** Absent when it is somebody else's to say. */
    replicas?: number
    selector: LabelSelector
    template: PodTemplate
    strategy?: {
      type: 'RollingUpdate' | 'Recreate'
      rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string }
    }
    revisionHistoryLimit?: number
    progressDeadlineSeconds?: number
  }
  status?: { observedGeneration?: number; conditions?: KubeCondition[] }
}

export type Service = KubeObject & {
  spec: {
    clusterIP?: string
    publishNotReadyAddresses?: boolean
    selector?: Record<string, string>
    ports?: { name?: string; port: number; targetPort?: number | string; protocol?: string; appProtocol?: string }[]
  }
}

export type EndpointSlice = KubeObject & {
  addressType: 'IPv4' | 'IPv6' | 'FQDN'
  endpoints?: Endpoint[] | null
  ports?: { name?: string; port?: number; protocol?: string }[] | null
}

export type Endpoint = {
  addresses: string[]
  /** An absent condition is unknown: ready counts as true then, terminating as false. */
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean }
  targetRef?: { kind?: string; name?: string }
}

export type PodDisruptionBudget = KubeObject & {
  spec: {
    maxUnavailable?: number | string
    selector: LabelSelector
    unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow'
  }
  status?: { expectedPods?: number }
}

export type Lease = KubeObject & {
  spec?: {
    /** Empty or absent: nobody holds it. */
    holderIdentity?: string
    leaseDurationSeconds?: number
    /** RFC 3339 with microseconds, by the holder's own clock: for people to read, never to compare. */
    acquireTime?: string
    renewTime?: string
    /** How often the lease was taken; the leader's term. */
    leaseTransitions?: number
  }
}

export type Event = KubeObject & {
  involvedObject: Pick<KubeObject, 'apiVersion' | 'kind'> &
    Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'resourceVersion'>
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  source?: { component?: string }
  firstTimestamp?: string
  lastTimestamp?: string
  count?: number
  reportingComponent?: string
  reportingInstance?: string
}

/** What the API server answers instead of an object when it refuses, also as the object of a watch's ERROR. */
export type Status = {
  kind: 'Status'
  code?: number
  reason?: string
  message?: string
  details?: { retryAfterSeconds?: number }
}
