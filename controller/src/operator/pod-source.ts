// Pods from Kubernetes. EndpointSlices say which pods exist and are ready; no pod is read or watched. TritonPools say
// which models each revision serves and its share of the requests. While the API server is away the last known list
// stays in use, and failing probes remove dead pods. Every replica works alone; no leader is needed.

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

type Reflected<T> = { items(): readonly T[]; onChange(listener: () => void): void }

export type KubernetesPodsOptions = {
  readonly slices: Reflected<EndpointSlice>
  readonly pools: Reflected<TritonPool>
  readonly Stub: TritonStubClass
  readonly logger: Logger
  readonly metrics: PodMetrics
  readonly channels?: number
  readonly licences?: LicencePolicy | undefined
}

/** Rare, because the kubelet probes readiness too: a hundred probes a second for a thousand pods. */
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
    // A status changes every few seconds, mostly without effect on routing.
    const now = JSON.stringify(pools.items().map(routingOf))
    if (now === routed) return
    routed = now
    routes = buildRoutes(pools.items())
    known = new WeakMap()
  }

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
