// Controllers that reach the API server through separate proxies, which can delay requests.
import { type KubeClient, leases } from '@matte/controller/operator/kube/client'
import { leaseName } from '@matte/controller/operator/pool/labels'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts'
import type { TestProcess } from '../../support/processes.ts'
import { until } from '../../support/until.ts'
import { readMetrics } from './metrics.ts'
import type { Operator } from './operator.ts'

export type Controller = {
  readonly process: Awaited<ReturnType<Operator['startController']>>
  readonly proxy: FaultProxy
}

export async function startProxied({ cluster, startController }: Operator): Promise<Controller> {
  const proxy = await startFaultProxy(cluster.loaded)
  return { process: await startController({ KUBECONFIG: proxy.kubeconfig }), proxy }
}

/** Kills operator and worker, and closes their proxy. */
export async function killController({ process, proxy }: Controller): Promise<void> {
  await Promise.all([process.kill('SIGKILL'), process.worker.kill('SIGKILL')])
  await proxy.close()
}

/** Whether it is leader, by its own metrics. The timeout covers processes that are stopped or gone. */
export async function isLeading({ process }: { readonly process: TestProcess }): Promise<boolean> {
  if (!process.isAlive()) return false
  return readMetrics(process).then(
    (metrics) => metrics.sum('matte_leader') === 1,
    () => false,
  )
}

/** Holder of the Lease once its fencing tokens are written. */
export async function findLeader(
  kube: KubeClient,
  controllers: readonly Controller[],
): Promise<Controller | undefined> {
  const { holderIdentity, leaseTransitions } = (await kube.get(leases, leaseName))?.spec ?? {}
  return controllers.find(({ process }) => {
    const log = process.log()
    const leads = log.some(({ msg, identity }) => msg === 'leading started' && identity === holderIdentity)
    return leads && log.some(({ msg, term }) => msg === 'fencing tokens written' && term === leaseTransitions)
  })
}

export const untilOneLeads = (kube: KubeClient, controllers: readonly Controller[]): Promise<Controller> =>
  until('one of the controllers leads', () => findLeader(kube, controllers), { everyMs: 200 })

/** Empties the Lease, so a controller acquires it without waiting for its expiry. */
export const freeLease = (kube: KubeClient): Promise<unknown> =>
  kube.mergePatch(leases, leaseName, { spec: { holderIdentity: '' } })
