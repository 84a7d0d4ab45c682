// Controllers that reach the API server through a proxy of their own, which can delay any request.
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

/** By its own metrics; a process that is stopped or gone does not answer, and the limit is for it. */
export async function isLeading({ process }: { readonly process: TestProcess }): Promise<boolean> {
  if (!process.isAlive()) return false
  return readMetrics(process).then(
    (metrics) => metrics.sum('matte_leader') === 1,
    () => false,
  )
}

/** The holder of the lease, once its fencing tokens are written; what a former leader believes of itself does not count. */
export async function findLeader(
  kube: KubeClient,
  controllers: readonly Controller[],
): Promise<Controller | undefined> {
  const { holderIdentity, leaseTransitions } = (await kube.get(leases, leaseName))?.spec ?? {}
  return controllers.find(({ process }) => {
    const log = process.log()
    const leads = log.some(({ msg, identity }) => msg === 'leading from now on' && identity === holderIdentity)
    return leads && log.some(({ msg, term }) => msg === 'fencing tokens written' && term === leaseTransitions)
  })
}

export const untilOneLeads = (kube: KubeClient, controllers: readonly Controller[]): Promise<Controller> =>
  until('one of the controllers leads', () => findLeader(kube, controllers), { everyMs: 200 })

/** As if its holder had released it: the first to see that acquires it, without waiting for its end. */
export const freeLease = (kube: KubeClient): Promise<unknown> =>
  kube.mergePatch(leases, leaseName, { spec: { holderIdentity: '' } })
