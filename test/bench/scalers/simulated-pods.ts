// Pods on KWOK's nodes, with a fake Triton of this process at each address. Dozens of real containers that start at
// once would take all cores of a small machine, and their start would take as long as the cores allow.
import { join } from 'node:path'
import { type KubeClient, pods } from '@matte/controller/operator/kube/client'
import type { Pod } from '@matte/controller/operator/kube/objects'
import { poolLabel } from '@matte/controller/operator/pool/labels'
import type { PoolSpecInput } from '@matte/controller/operator/pool/triton-pool'
import { repeat } from '@matte/core/runtime/loop'
import { runCommand } from '@matte/local/install/run-command'
import type { Cluster } from '../../e2e/support/cluster.ts'
import { findKwok, startNodes } from '../../e2e/support/simulated-nodes.ts'
import { meanServiceSeconds, serviceSpread } from '../../sim/trace.ts'
import { type Fake, startFake } from '../../support/fake-triton.ts'

/** Times in milliseconds of this machine's clock. */
export type PodRecord = {
  readonly name: string
  readonly pool: string
  readonly createdAt: number
  readyAt?: number
  goneAt?: number
  /** Requests that it has served. */
  served: number
}

export type PodWatch = { readonly records: () => readonly PodRecord[]; stop(): Promise<void> }

/** Addresses of KWOK's pods. */
const cidr = '10.250.0.0/16'
const everyMs = 200

export type SimulatedPool = Pick<PoolSpecInput, 'nodeSelector' | 'tolerations'>

/** Needs root and `kwok`. Returns the pools' fields, and a function that removes all of it. */
export async function useSimulatedPods(
  cluster: Cluster,
  dir: string,
): Promise<{ readonly pool: SimulatedPool; end(): Promise<void> }> {
  const kwok = findKwok()
  if (kwok === undefined) throw new Error('there is no kwok in $PATH, and $KWOK names none')
  const route = ['local', cidr, 'dev', 'lo']
  await runCommand('ip', ['route', 'replace', ...route])
  const nodes = await startNodes(kwok, cluster, {
    count: 2,
    dir,
    stages: join(import.meta.dirname, 'kwok-stages.yaml'),
  })
  return {
    pool: nodes.pool,
    end: async () => {
      await nodes.end()
      await runCommand('ip', ['route', 'del', ...route])
    },
  }
}

/** Patch of a pool whose pods are ready after these seconds. */
export const startAfter = (seconds: number) => ({
  metadata: { annotations: { 'matte.dev/start-after': `${seconds}s` } },
})

/** Serves at the address of each pod, and records the pods. */
export function servePods(kube: KubeClient): PodWatch {
  const known = new Map<string, PodRecord>()
  const fakes = new Map<string, Promise<Fake>>()

  async function pass(): Promise<number> {
    try {
      const { items } = await kube.list(pods, { labelSelector: poolLabel })
      const now = Date.now()
      const names = new Set(items.map(({ metadata }) => metadata.name))
      for (const pod of items) see(pod, now)
      await Promise.all([...known.values()].filter(({ name }) => !names.has(name)).map((record) => end(record, now)))
      for (const [name, fake] of fakes) count(name, await fake)
    } catch {
      // The API server is late; the next pass sees the same pods.
    }
    return everyMs
  }

  function see({ metadata, status }: Pod, now: number): void {
    const { name, labels = {} } = metadata
    const record = known.get(name) ?? { name, pool: labels[poolLabel] ?? '', createdAt: now, served: 0 }
    known.set(name, record)
    if (status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True')) record.readyAt ??= now
    if (status?.podIP && !fakes.has(name) && record.goneAt === undefined) fakes.set(name, serve(status.podIP))
  }

  function count(name: string, fake: Fake): void {
    const record = known.get(name)
    if (record !== undefined) record.served = fake.counts().done
  }

  async function end(record: PodRecord, now: number): Promise<void> {
    record.goneAt ??= now
    const fake = await fakes.get(record.name)
    if (fake === undefined) return
    fakes.delete(record.name)
    count(record.name, fake)
    await fake.kill()
  }

  const loop = repeat({ name: 'pods', pass })
  void loop.start()
  return {
    records: () => [...known.values()],
    stop: async () => {
      await loop.stop()
      for (const record of known.values()) await end(record, Date.now())
    },
  }
}

const serve = (host: string): Promise<Fake> =>
  startFake({
    host,
    ports: { http: 8_000, grpc: 8_001, metrics: 8_002 },
    models: [{ name: 'u2netp', inputSize: 64 }],
    behaviour: { serviceMs: meanServiceSeconds * 1_000, serviceSpread },
  })
