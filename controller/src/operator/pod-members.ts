// Members of the pod list, computed from EndpointSlices and TritonPools: address, models and share of each pod.
import type { MemberSpec, ServedModel } from '../worker/routing/pod-member.ts'
import type { Pod } from '../worker/routing/pod-source.ts'
import type { Endpoint, EndpointSlice } from './kube/objects.ts'
import { poolLabel, revisionLabel, simulatedAnnotation } from './pool/labels.ts'
import { modelsOfRevision } from './pool/revision-models.ts'
import { servedPools } from './pool/served-pools.ts'
import type { TritonPool } from './pool/triton-pool.ts'

/** The fields of a pool that decide routing; equal results mean equal routes. */
export function routingOf({ metadata, spec, status }: TritonPool): unknown {
  const { namespace, name, creationTimestamp, deletionTimestamp, annotations } = metadata
  const { stable, canary, weight } = status?.rollout ?? {}
  const models = spec.models.map((model) => [model.name, model.modelVersion, model.default, model.licence])
  return [
    [namespace, name, creationTimestamp, deletionTimestamp, annotations?.[simulatedAnnotation]],
    [models, spec.default, spec.slotsPerPod],
    [stable, canary, weight, status?.revisions],
  ]
}

type Route = {
  readonly pool: TritonPool
  readonly modelsOf: (revision: string) => readonly ServedModel[]
}
export type Routes = ReadonlyMap<string, Route>

/** An endpoint that moves between slices may be in both. If one of them rejects requests, the pod gets none. */
export function mergeMembers(lists: readonly (readonly MemberSpec[])[]): MemberSpec[] {
  const members = new Map<string, MemberSpec>()
  for (const member of lists.flat()) {
    const key = `${member.name} ${member.address}`
    if (members.get(key)?.accepts !== false) members.set(key, member)
  }
  return [...members.values()]
}

export function membersOfSlice(slice: EndpointSlice, routes: Routes): MemberSpec[] {
  const { [poolLabel]: poolName = '', [revisionLabel]: revision } = slice.metadata.labels ?? {}
  const route = routes.get(poolName)
  if (route === undefined || revision === undefined) return []
  // Another namespace may have a pool or Service with these labels.
  if (slice.metadata.namespace !== route.pool.metadata.namespace) return []
  return (slice.endpoints ?? []).flatMap((endpoint) => toMember(endpoint, { slice, revision, route }) ?? [])
}

export function buildRoutes(pools: readonly TritonPool[]): Routes {
  const served = servedPools(pools)
  const isReal = ({ metadata }: TritonPool): boolean => metadata.annotations?.[simulatedAnnotation] !== 'true'
  return new Map(
    pools.filter(isReal).map((pool) => {
      const { name } = pool.metadata
      const known = new Map<string, readonly ServedModel[]>()
      const modelsOf = (revision: string): readonly ServedModel[] => {
        const models =
          known.get(revision) ??
          served
            .routed(pool, modelsOfRevision(pool, revision))
            .map((model) => ({ pool: name, ...model, licence: licenceOf(pool, model.tritonModel) }))
        known.set(revision, models)
        return models
      }
      return [name, { pool, modelsOf }]
    }),
  )
}

/** Applies to revisions of an earlier spec too, because a model name always means the same weights. */
const licenceOf = ({ spec }: TritonPool, tritonModel: string): string | undefined =>
  spec.models.find(({ name }) => name === tritonModel)?.licence

/** Name of the port in the pool's Services, and the number to use if a slice lacks the name. */
const grpcPort = { name: 'grpc', port: 8001 }

function toMember(
  endpoint: Endpoint,
  { slice, revision, route }: { slice: EndpointSlice; revision: string; route: Route },
): MemberSpec | undefined {
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
    // A deleted pool serves nothing, and a late slice may still list a terminating pod as ready.
    accepts: ready && !terminating && models.length > 0,
  }
}

/** There is no stable revision before the first one is ready, and no rollout before the first status. */
function shareOf(revision: string, { status }: TritonPool): Pick<Pod, 'role' | 'weight'> {
  const { stable, canary, weight = 0 } = status?.rollout ?? {}
  if (stable === undefined && canary === undefined) return { role: 'stable', weight: 100 }
  if (revision === stable) return { role: 'stable', weight: canary === undefined ? 100 : 100 - weight }
  if (revision === canary) return { role: 'canary', weight }
  return { role: 'other', weight: 0 }
}
