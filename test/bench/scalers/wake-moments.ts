// Moments in the start of a pool's pod, by this machine's clock: the API server's times have whole seconds.
import { setTimeout as pause } from 'node:timers/promises'
import { deployments, type KubeClient, pods, type Resource } from '@matte/controller/operator/kube/client'
import type { Deployment, KubeObject, Pod } from '@matte/controller/operator/kube/objects'

/** Milliseconds since the epoch. */
export type Moments = {
  /** The operator has asked Kubernetes for a pod. */
  decided?: number
  created?: number
  scheduled?: number
  running?: number
  /** Triton reports ready on its HTTP port. */
  answers?: number
  /** The kubelet's probe has passed. */
  ready?: number
}

export type MomentsWatch = { readonly moments: Moments; stop(): Promise<void> }

const pollEveryMs = 20

/** Start while the pool has no pod. */
export async function watchMoments(kube: KubeClient, pool: string): Promise<MomentsWatch> {
  const moments: Moments = {}
  const stopping = new AbortController()
  const { signal } = stopping
  const labelSelector = `matte.dev/pool=${pool}`
  let polling: Promise<void> | undefined

  async function follow<T extends KubeObject>(
    resource: Resource<T>,
    resourceVersion: string,
    see: (object: T) => void,
  ): Promise<void> {
    try {
      const options = { resourceVersion, labelSelector, timeoutSeconds: 300, signal }
      for await (const event of kube.watch(resource, options)) {
        if (event.type === 'ADDED' || event.type === 'MODIFIED') see(event.object)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async function poll(podIp: string): Promise<void> {
    while (!signal.aborted && moments.answers === undefined) {
      const response = await fetch(`http://${podIp}:8000/v2/health/ready`, {
        signal: AbortSignal.timeout(1_000),
      }).catch(() => undefined)
      if (response?.ok) moments.answers ??= Date.now()
      else await pause(pollEveryMs)
    }
  }

  function seePod({ spec, status }: Pod): void {
    const now = Date.now()
    moments.created ??= now
    if (spec.nodeName) moments.scheduled ??= now
    if (status?.containerStatuses?.some(({ state }) => state?.running)) moments.running ??= now
    if (status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True')) moments.ready ??= now
    if (status?.podIP) polling ??= poll(status.podIP)
  }

  const versionOf = async (resource: Resource<KubeObject>): Promise<string> =>
    (await kube.list(resource, { labelSelector })).resourceVersion
  const [ofDeployments, ofPods] = await Promise.all([versionOf(deployments), versionOf(pods)])
  const watches = [
    follow(deployments, ofDeployments, ({ spec }: Deployment) => {
      if ((spec.replicas ?? 0) > 0) moments.decided ??= Date.now()
    }),
    follow(pods, ofPods, seePod),
  ]
  return {
    moments,
    stop: async () => {
      stopping.abort()
      await Promise.all([...watches, polling])
    },
  }
}
