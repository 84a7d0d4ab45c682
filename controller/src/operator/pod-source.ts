// Pods from Kubernetes. Which there are, of which pool and revision, and whether they may get pictures is read from
// EndpointSlices, which the cluster keeps for us: no pod is read or watched. What they serve, and each revision's share,
// is read from the TritonPools. With the API server away the last known list goes on serving; pods that went meanwhile
// are taken out by their own answers. Every replica of the controller does this by itself, and none needs to lead.
import type { Logger } from 'pino'
import { createPodList } from '../worker/routing/pod-list.ts'
import type { MemberSpec, ServedModel } from '../worker/routing/pod-member.ts'
import type { PodMetrics } from '../worker/routing/pod-metrics.ts'
import type { Pod, PodSource } from '../worker/routing/pod-source.ts'
import { agreedKeepalive } from '../worker/triton/keepalive.ts'
import { connectTriton } from '../worker/triton/triton-client.ts'
import type { TritonStubClass } from '../worker/triton/triton-protocol.ts'
import type { Endpoint, EndpointSlice } from './kube/objects.ts'
import { poolLabel, revisionLabel, simulatedAnnotation } from './pool/labels.ts'
import { modelsOfRevision } from './pool/revision-models.ts'
import { servedPools } from './pool/served-pools.ts'
import type { TritonPool } from './pool/triton-pool.ts'

/** What is needed of a reflector; it is started and stopped by whoever made it. */
export type Reflected<T> = { items(): readonly T[]; onChange(listener: () => void): void }

export type KubernetesPodsOptions = {
  /** Of the pools' Services: label selector `matte.dev/pool`. */
  readonly slices: Reflected<EndpointSlice>
  readonly pools: Reflected<TritonPool>
  readonly Stub: TritonStubClass
  readonly logger: Logger
  readonly metrics: PodMetrics
  /** Connections to each pod. */
  readonly channels?: number
}

/**
 * The kubelet asks each pod for its readiness every few seconds and the slices tell, so ours is a second opinion on the
 * way there: a thousand pods make a hundred small calls a second.
 */
const pauses = { usableMs: 10_000, missingMs: 30_000 }

export function kubernetesPods(options: KubernetesPodsOptions): PodSource {
  const { slices, pools, Stub, logger, metrics, channels = 1 } = options
  const connect = (address: string) => connectTriton(Stub, address, { keepalive: agreedKeepalive, channels })
  const list = createPodList({ connect, pauses, logger, metrics })
  let planned: NodeJS.Immediate | undefined
  let routed = ''
  let routes: Routes = new Map()
  let known = new WeakMap<EndpointSlice, readonly MemberSpec[]>()

  function readRoutes(): void {
    // Their status is written every few seconds and mostly says nothing of where pictures go.
    const now = JSON.stringify(pools.items().map(routingOf))
    if (now === routed) return
    routed = now
    routes = routesOf(pools.items())
    known = new WeakMap()
  }

  /** A slice that has not changed has the members that it had, the very same: of a thousand pods one changes at a time. */
  function membersIn(slice: EndpointSlice): readonly MemberSpec[] {
    const members = known.get(slice) ?? membersOfSlice(slice, routes)
    known.set(slice, members)
    return members
  }

  function refreshNow(): void {
    clearImmediate(planned)
    planned = undefined
    readRoutes()
    list.set(merge(slices.items().map(membersIn)))
  }

  /** All that came in this turn of the event loop at once: a pod's end tells of itself in several changes. */
  function refresh(): void {
    planned ??= setImmediate(refreshNow)
  }

  slices.onChange(refresh)
  pools.onChange(refresh)

  return {
    ...list,
    name: 'kubernetes-pods',
    settled: async () => {
      refreshNow()
      await list.settled()
    },
    start: () => {
      refresh()
      list.start()
    },
    stop: async () => {
      clearImmediate(planned)
      await list.stop()
    },
  }
}

function routingOf({ metadata, spec, status }: TritonPool): unknown {
  const { name, creationTimestamp, deletionTimestamp, annotations } = metadata
  const { stable, canary, weight } = status?.rollout ?? {}
  const models = spec.models.map((model) => [model.name, model.modelVersion, model.default])
  const simulated = annotations?.[simulatedAnnotation]
  return [
    name,
    creationTimestamp,
    deletionTimestamp,
    simulated,
    models,
    spec.default,
    spec.slotsPerPod,
    stable,
    canary,
    weight,
    status?.revisions,
  ]
}

/** What is known of a pool's pods beside their addresses. */
type Route = {
  readonly pool: TritonPool
  /** Of the pods of a revision. */
  readonly modelsOf: (revision: string) => readonly ServedModel[]
}
type Routes = ReadonlyMap<string, Route>

/** The pods that may be known, accepting or not. Those of pools that nobody knows, or that are simulated, are none. */
export function membersOf(slices: readonly EndpointSlice[], pools: readonly TritonPool[]): MemberSpec[] {
  const routes = routesOf(pools)
  return merge(slices.map((slice) => membersOfSlice(slice, routes)))
}

/** While an endpoint moves from one slice to another it may be in both, and one of them is late: the worse counts. */
function merge(lists: readonly (readonly MemberSpec[])[]): MemberSpec[] {
  const members = new Map<string, MemberSpec>()
  for (const member of lists.flat()) {
    const key = `${member.name} ${member.address}`
    if (members.get(key)?.accepts !== false) members.set(key, member)
  }
  return [...members.values()]
}

function membersOfSlice(slice: EndpointSlice, routes: Routes): MemberSpec[] {
  const { [poolLabel]: poolName = '', [revisionLabel]: revision } = slice.metadata.labels ?? {}
  const route = routes.get(poolName)
  if (route === undefined || revision === undefined) return []
  return (slice.endpoints ?? []).flatMap((endpoint) => toMember(slice, endpoint, revision, route) ?? [])
}

function routesOf(pools: readonly TritonPool[]): Routes {
  const served = servedPools(pools)
  const isReal = ({ metadata }: TritonPool): boolean => metadata.annotations?.[simulatedAnnotation] !== 'true'
  return new Map(
    pools.filter(isReal).map((pool) => {
      const { name } = pool.metadata
      const known = new Map<string, readonly ServedModel[]>()
      const modelsOf = (revision: string): readonly ServedModel[] => {
        const models =
          known.get(revision) ??
          served.routed(pool, modelsOfRevision(pool, revision)).map((model) => ({ pool: name, ...model }))
        known.set(revision, models)
        return models
      }
      return [name, { pool, modelsOf }]
    }),
  )
}

/** The port's name in our Services; its number when a slice does not tell. */
const grpcPort = { name: 'grpc', port: 8001 }

function toMember(slice: EndpointSlice, endpoint: Endpoint, revision: string, route: Route): MemberSpec | undefined {
  const [ip] = endpoint.addresses
  if (ip === undefined || slice.addressType === 'FQDN') return undefined
  const port = slice.ports?.find(({ name }) => name === grpcPort.name)?.port ?? grpcPort.port
  const { ready = true, terminating = false } = endpoint.conditions ?? {}
  const { slotsPerPod } = route.pool.spec
  const models = route.modelsOf(revision)
  return {
    address: slice.addressType === 'IPv6' ? `[${ip}]:${port}` : `${ip}:${port}`,
    name: endpoint.targetRef?.name ?? ip,
    revision,
    ...shareOf(revision, route.pool),
    models,
    ...(slotsPerPod !== undefined && { slotsMax: slotsPerPod }),
    // A pool that is being deleted serves nothing, and a slice that is late may call a pod ready that is going.
    accepts: ready && !terminating && models.length > 0,
  }
}

/** Before the first revision is ready there is no stable one, and before the status is written none at all. */
function shareOf(revision: string, { status }: TritonPool): Pick<Pod, 'role' | 'weight'> {
  const { stable, canary, weight = 0 } = status?.rollout ?? {}
  if (stable === undefined && canary === undefined) return { role: 'stable', weight: 100 }
  if (revision === stable) return { role: 'stable', weight: canary === undefined ? 100 : 100 - weight }
  if (revision === canary) return { role: 'canary', weight }
  return { role: 'other', weight: 0 }
}
