// Kubernetes objects that this process reads and writes, with the members that it uses. They are type-only imports of
// the client library, in JSON form. Handwritten parts say which members are always present, and list closed sets of
// values.
import type {
  CoreV1Event,
  V1ContainerState,
  V1ContainerStatus,
  V1DeploymentSpec,
  V1DeploymentStatus,
  V1Endpoint,
  V1EndpointSlice,
  V1LeaseSpec,
  V1ObjectMeta,
  V1OwnerReference,
  V1PodCondition,
  V1PodDisruptionBudgetSpec,
  V1PodDisruptionBudgetStatus,
  V1PodSpec,
  V1PodStatus,
  V1ServiceSpec,
  V1Status,
} from '@kubernetes/client-node'

/** JSON form of a library type: times are strings. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [Member in keyof T]: Json<T[Member]> }
      : T
type Members<T, Names extends keyof T> = Json<Pick<T, Names>>

export type OwnerReference = Json<V1OwnerReference>

type ObjectMeta = { name: string } & Members<
  V1ObjectMeta,
  | 'namespace'
  | 'uid'
  | 'resourceVersion'
  | 'generation'
  | 'creationTimestamp'
  | 'deletionTimestamp'
  | 'labels'
  | 'annotations'
  | 'ownerReferences'
  | 'managedFields'
>

export type KubeObject = { apiVersion: string; kind: string; metadata: ObjectMeta }

type KubeCondition = { status: 'True' | 'False' | 'Unknown' } & Members<V1PodCondition, 'type' | 'reason' | 'message'>

export type ContainerState = Json<V1ContainerState>

export type ContainerStatus = Members<
  V1ContainerStatus,
  'name' | 'ready' | 'restartCount' | 'started' | 'state' | 'lastState'
>

export type Pod = KubeObject & {
  spec: Members<V1PodSpec, 'nodeName' | 'terminationGracePeriodSeconds'>
  status?: Members<V1PodStatus, 'podIP'> & {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
    conditions?: KubeCondition[]
    containerStatuses?: ContainerStatus[]
    initContainerStatuses?: ContainerStatus[]
  }
}

/** Pod template of a Deployment. Its spec is built as data and compared as a whole. */
type PodTemplate = {
  metadata?: Members<V1ObjectMeta, 'labels' | 'annotations'>
  spec: { readonly [member: string]: unknown }
}

export type Deployment = KubeObject & {
  spec: { template: PodTemplate } & Members<
    V1DeploymentSpec,
    'replicas' | 'selector' | 'strategy' | 'revisionHistoryLimit' | 'progressDeadlineSeconds'
  >
  status?: Members<V1DeploymentStatus, 'observedGeneration'> & { conditions?: KubeCondition[] }
}

export type Service = KubeObject & {
  spec: Members<V1ServiceSpec, 'clusterIP' | 'publishNotReadyAddresses' | 'selector' | 'ports'>
}

export type EndpointSlice = KubeObject & {
  addressType: 'IPv4' | 'IPv6' | 'FQDN'
  endpoints?: Endpoint[] | null
  ports?: Json<NonNullable<V1EndpointSlice['ports']>> | null
}

/** Absent conditions are unknown: ready then counts as true, terminating as false. */
export type Endpoint = Members<V1Endpoint, 'addresses' | 'conditions' | 'targetRef'>

export type PodDisruptionBudget = KubeObject & {
  spec: Members<V1PodDisruptionBudgetSpec, 'maxUnavailable' | 'selector' | 'unhealthyPodEvictionPolicy'>
  status?: Partial<Members<V1PodDisruptionBudgetStatus, 'expectedPods'>>
}

/** Free if `holderIdentity` is empty. `leaseTransitions` is the leader's term. Times are never compared. */
export type Lease = KubeObject & {
  spec?: Members<
    V1LeaseSpec,
    'holderIdentity' | 'leaseDurationSeconds' | 'acquireTime' | 'renewTime' | 'leaseTransitions'
  >
}

export type Event = KubeObject & { type: 'Normal' | 'Warning'; reason: string; message: string } & Members<
    CoreV1Event,
    | 'involvedObject'
    | 'source'
    | 'firstTimestamp'
    | 'lastTimestamp'
    | 'count'
    | 'reportingComponent'
    | 'reportingInstance'
  >

/** The API server's response to a refused request, and the object of a watch's ERROR. */
export type Status = { kind: 'Status' } & Members<V1Status, 'code' | 'reason' | 'message' | 'details'>

export const objectKey = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`

export const keyOfObject = ({ metadata: { namespace, name } }: KubeObject): string => objectKey(namespace, name)

/** Neither part contains a slash. */
export const nameInKey = (key: string): string => key.slice(key.indexOf('/') + 1)
