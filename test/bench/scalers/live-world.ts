// The whole service beside the cluster of the kube context: servers, API and worker; KEDA's programs; a namespace for
// the pools.
import { randomUUID } from 'node:crypto'
import { delimiter, join } from 'node:path'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { insertGrant } from '@matte/core/upload/grant-queries'
import type { Say } from '@matte/local/say'
import { type Cluster, openCluster } from '../../e2e/support/cluster.ts'
import { startKeda } from '../../e2e/support/scalers/adapters.ts'
import { machineAddress, serveExternalMetrics } from '../../e2e/support/scalers/external-metrics.ts'
import { installKeda, removeKeda } from '../../e2e/support/scalers/keda.ts'
import { kubeEnv } from '../../e2e/support/small-pool.ts'
import { findKedaDefinitions } from '../../support/keda/definitions.ts'
import { installKedaPrograms } from '../../support/keda/install.ts'
import { greyPng } from '../../support/photos.ts'
import { startTestProcess, type TestProcess } from '../../support/processes.ts'
import { type Caller, createWorld, type World } from '../accept/world.ts'
import { type SimulatedPool, useSimulatedPods } from './simulated-pods.ts'

export type LiveWorld = {
  readonly world: World
  readonly cluster: Cluster
  readonly worker: TestProcess
  /** Places a pool's pods on simulated nodes; empty without `isSimulated`. */
  readonly pool: SimulatedPool
  /** Operators are started for each run: a pool is patched while none leads, so its patch is no rollout. */
  startOperator(): Promise<TestProcess>
  /** A workspace with an uploaded image. */
  caller(index: number): Promise<Caller>
  remove(): Promise<void>
}

type LiveWorldOptions = {
  readonly parent: string
  readonly say: Say
  readonly withKeda: boolean
  readonly isSimulated: boolean
  readonly image?: Buffer
}

export async function createLiveWorld(options: LiveWorldOptions): Promise<LiveWorld> {
  const { parent, say, withKeda, isSimulated, image = greyPng(64, 64) } = options
  const ends: (() => unknown)[] = []
  const remove = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    const world = await createWorld(parent)
    ends.push(() => world.remove())
    await writeSetting(world.db, 'dispatchPaused', false)
    const cluster = await openCluster()
    ends.push(() => cluster.end())
    // Before the simulated nodes, whose addresses are no route to this machine.
    if (withKeda) ends.push(await useKeda(cluster, world.dir, say))
    const simulated = isSimulated ? await useSimulatedPods(cluster, world.dir) : undefined
    if (simulated) ends.push(() => simulated.end())
    const env = { ...world.env, ...kubeEnv(), KUBE_NAMESPACE: cluster.namespace }
    const worker = await startTestProcess('worker', world.dir, { ...env, TRITON_POOLS: 'on', MODELS_STATIC: '' })
    ends.push(() => worker.stop())
    return {
      world,
      cluster,
      worker,
      pool: simulated?.pool ?? {},
      startOperator: () => startTestProcess('operator', world.dir, env),
      caller: async (index) => {
        const caller = world.callers[index]
        if (caller === undefined) throw new Error(`there is no workspace ${index}`)
        const objectKey = `private-uploads/2026/01/${randomUUID()}-image.png`
        await insertGrant(world.db, {
          workspaceId: caller.workspaceId,
          objectKey,
          contentType: 'image/png',
          expiresInSeconds: 7_200,
        })
        await world.bucket.put(objectKey, image, { contentType: 'image/png' })
        return { ...caller, objectKey }
      },
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Starts KEDA for the namespace; returns a function that removes it. */
async function useKeda(cluster: Cluster, parent: string, say: Say): Promise<() => Promise<void>> {
  const definitions = findKedaDefinitions()
  if (typeof definitions === 'string') throw new Error(definitions)
  process.env.PATH = [await installKedaPrograms(say), process.env.PATH].join(delimiter)
  const dir = join(parent, 'keda')
  const { namespace } = cluster
  await installKeda(cluster, definitions)
  const address = await machineAddress(cluster)
  const keda = await startKeda({ cluster, dir, address })
  const removeAll = async (): Promise<void> => {
    await removeKeda(cluster, definitions)
    await keda.stop()
  }
  try {
    const unserve = await serveExternalMetrics(cluster, { address, port: keda.port, namespace })
    return async () => {
      await unserve()
      await removeAll()
    }
  } catch (error) {
    await removeAll()
    throw error
  }
}
