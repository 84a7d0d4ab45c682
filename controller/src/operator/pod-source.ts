// Pods from Kubernetes. Which there are, of which pool and revision, and whether they may get requests is read from
// EndpointSlices, which the cluster keeps for us: no pod is read or watched. What they serve, and each revision's
// share, is read from the TritonPools. With the API server away the last known list goes on serving; pods that went
// meanwhile are taken out by their own answers. Every replica does this by itself, and none needs to lead.

import type { LicencePolicy } from '@matte/core/model/licence-policy'
import type { Logger } from 'pino'
import { createPodList } from '../worker/routing/pod-list.ts'
import type { MemberSpec } from '../worker/routing/pod-member.ts'
import type { PodMetrics } from '../worker/routing/pod-metrics.ts'
import type { PodSource } from '../worker/routing/pod-source.ts'
import { agreedKeepalive } from '../worker/triton/keepalive.ts'
import { connectTriton } from '../worker/triton/triton-client.ts'
import type { TritonStubClass } from '../worker/triton/triton-protocol.ts'
import type { EndpointSlice } from './kube/objects.ts'
import { buildRoutes, membersOfSlice, mergeMembers, type Routes, routingOf } from './pod-members.ts'
import type { TritonPool } from './pool/triton-pool.ts'

/** What is needed of a reflector; it is started and stopped by whoever made it. */
type Reflected<T> = { items(): readonly T[]; onChange(listener: () => void): void }

export type KubernetesPodsOptions = {
  /** Of the pools' Services: label selector `matte.dev/pool`. */
  readonly slices: Reflected<EndpointSlice>
  readonly pools: Reflected<TritonPool>
  readonly Stub: TritonStubClass
  readonly logger: Logger
  readonly metrics: PodMetrics
  /** Connections to each pod. */
  readonly channels?: number
  readonly licences?: LicencePolicy | undefined
}

/**
 * The kubelet asks each pod for its readiness every few seconds and the slices show it, so ours is a second opinion on
 * the way there: a thousand pods make a hundred small calls a second.
 */
const pauses = { usableMs: 10_000, missingMs: 30_000 }

export function kubernetesPods(options: KubernetesPodsOptions): PodSource {
  const { slices, pools, Stub, logger, metrics, channels = 1, licences } = options
  const connect = (address: string) => connectTriton(Stub, address, { keepalive: agreedKeepalive, channels })
  const list = createPodList({ connect, pauses, logger, metrics, licences })
  let planned: NodeJS.Immediate | undefined
  let routed = ''
  let routes: Routes = new Map()
  let known = new WeakMap<EndpointSlice, readonly MemberSpec[]>()

  function readRoutes(): void {
    // Their status is written every few seconds and mostly changes nothing of where requests go.
    const now = JSON.stringify(pools.items().map(routingOf))
    if (now === routed) return
    routed = now
    routes = buildRoutes(pools.items())
    known = new WeakMap()
  }

  /** A slice that has not changed has the very same members: of a thousand pods one changes at a time. */
  function membersIn(slice: EndpointSlice): readonly MemberSpec[] {
    const members = known.get(slice) ?? membersOfSlice(slice, routes)
    known.set(slice, members)
    return members
  }

  function refreshNow(): void {
    clearImmediate(planned)
    planned = undefined
    readRoutes()
    list.set(mergeMembers(slices.items().map(membersIn)))
  }

  /** All that came in this turn of the event loop at once: the end of a pod comes in several changes. */
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
