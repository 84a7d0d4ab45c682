// Fake GPUs on a real node: an administrator writes the resource into the node's status. No device backs them.
import { until } from '../../support/until.ts'
import type { Cluster } from './cluster.ts'
import { nodes } from './images.ts'

const gpu = 'nvidia.com/gpu'

/** Resources of a pod with one GPU. */
export const oneGpu = { requests: { cpu: '1m', memory: '32Mi' }, limits: { [gpu]: 1 } }

export type Gpus = {
  /** Returns when the scheduler can allocate this many. */
  set(count: number): Promise<void>
  /** Removes the resource from the node. */
  end(): Promise<void>
}

/** @throws Error if a node already has GPUs */
export async function useGpus({ kube }: Cluster): Promise<Gpus> {
  const { items } = await kube.list(nodes)
  const isFree = ({ spec }: (typeof items)[number]): boolean => (spec?.taints ?? []).length === 0
  if (items.some(({ status }) => Number(status?.capacity?.[gpu] ?? 0) > 0)) {
    throw new Error(`a node of the cluster has ${gpu} already: use one without GPUs`)
  }
  const node = items.find(isFree)?.metadata.name ?? ''
  const write = async (count: number | null): Promise<void> => {
    const value = count === null ? null : String(count)
    const status = { capacity: { [gpu]: value }, allocatable: { [gpu]: value } }
    await kube.mergePatch(nodes, node, { status }, { subresource: 'status' })
  }
  return {
    set: async (count) => {
      await write(count)
      await until('the node has the GPUs', async () => {
        const { status } = (await kube.get(nodes, node)) ?? {}
        return Number(status?.allocatable?.[gpu]) === count
      })
    },
    end: () => write(null),
  }
}
