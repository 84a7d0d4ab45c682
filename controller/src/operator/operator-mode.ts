// The operator and its watches. It sends no inference: it probes pods for models and readiness, and reads demand from
// PostgreSQL and slot usage from NATS.
import { systemClock } from '@matte/core/runtime/clock'
import type { EdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Service } from '@matte/core/runtime/service'
import type { PodMetrics } from '../worker/routing/pod-metrics.ts'
import type { PodSource } from '../worker/routing/pod-source.ts'
import { type ClusterOptions, openCluster } from './cluster.ts'
import { createKubeMetrics } from './kube/kube-metrics.ts'
import { type OperatorOptions, operator } from './operator.ts'
import { kubernetesPods } from './pod-source.ts'
import { poolCatalogue } from './pool/served-pools.ts'
import { slotReports } from './reconcile/observe/slot-reports.ts'

type FoundPools = 'homePools' | 'pools' | 'named' | 'catalogue'
type Found = FoundPools | 'kube' | 'kubeMetrics' | 'watch' | 'slices' | 'source' | 'slotsUsed'
type OperatorModeOptions = ClusterOptions & Omit<OperatorOptions, Found> & { readonly edges: EdgeMetrics }

type OperatorMode = { readonly source: PodSource; readonly services: readonly Service[] }

/** @throws ConfigError if this machine has no cluster configuration */
export async function operatorMode(options: OperatorModeOptions): Promise<OperatorMode> {
  const { registry, edges, bus } = options
  const kubeMetrics = createKubeMetrics(registry, edges)
  const { client, kube, watch, homePools, pools, named, slices } = await openCluster(options, kubeMetrics)
  const source = kubernetesPods({ ...options, slices, pools: named, metrics: countProbes(edges) })
  const reports = slotReports(bus)
  const leader = operator({
    ...options,
    kube,
    kubeMetrics,
    watch,
    homePools,
    pools,
    named,
    catalogue: poolCatalogue(named, systemClock),
    slices,
    source,
    slotsUsed: reports.slotsUsed,
  })
  return { source, services: [client, pools, slices, source, reports, leader] }
}

/** The operator counts unreachable pods; workers count ejections and failed inferences. */
const countProbes = (edges: EdgeMetrics): PodMetrics => ({
  ejected: (reason) => {
    if (reason === 'unready') edges.count('triton', 'unreachable')
  },
  inferenceFailed: () => undefined,
})
