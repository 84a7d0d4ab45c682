// Pods of the pools over time: when each existed, was ready, and how many requests it served.
import type { KubeClient } from '@matte/controller/operator/kube/client'
import { pods } from '@matte/controller/operator/kube/client'
import type { Pod } from '@matte/controller/operator/kube/objects'
import { poolLabel } from '@matte/controller/operator/pool/labels'
import { repeat } from '@matte/core/runtime/loop'

/** Times in milliseconds of this machine's clock. */
export type PodRecord = {
  readonly name: string
  readonly pool: string
  readonly createdAt: number
  readyAt?: number
  goneAt?: number
  /** Requests that it had served when it was last read. */
  served: number
}

export type PodWatch = { readonly records: () => readonly PodRecord[]; stop(): Promise<void> }

const everyMs = 500

export function watchPods(kube: KubeClient, containerHttpPort = 8_000): PodWatch {
  const known = new Map<string, PodRecord>()

  async function pass(): Promise<number> {
    try {
      const { items } = await kube.list(pods, { labelSelector: poolLabel })
      const now = Date.now()
      const names = new Set(items.map(({ metadata }) => metadata.name))
      for (const record of known.values()) if (!names.has(record.name)) record.goneAt ??= now
      await Promise.all(items.map((pod) => see(pod, now)))
    } catch {
      // The API server is late; the next pass sees the same pods.
    }
    return everyMs
  }

  async function see(pod: Pod, now: number): Promise<void> {
    const { name, labels = {}, creationTimestamp = '' } = pod.metadata
    const record = known.get(name) ?? {
      name,
      pool: labels[poolLabel] ?? '',
      // The API server's time has whole seconds.
      createdAt: Math.min(now, Date.parse(creationTimestamp) + 500),
      served: 0,
    }
    known.set(name, record)
    const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    if (isReady) record.readyAt ??= now
    const ip = (pod.status as { podIP?: string } | undefined)?.podIP
    if (record.readyAt === undefined || ip === undefined) return
    try {
      const answer = await fetch(`http://${ip}:${containerHttpPort}/fake`, { signal: AbortSignal.timeout(1_000) })
      record.served = Math.max(record.served, ((await answer.json()) as { done: number }).done)
    } catch {
      // The pod is ending.
    }
  }

  const loop = repeat({ name: 'pods', pass })
  void loop.start()
  return { records: () => [...known.values()], stop: async () => loop.stop() }
}
