// What the chart's Job does at each installation and upgrade with the pools of its values.
import type { KubeClient } from '@matte/controller/operator/kube/client'
import { type PoolSpecInput, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { applyPools } from '@matte/controller/setup/pools'
import { pino } from 'pino'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildConfigMap, configMaps } from '../support/config-map.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'

const cluster = await findCluster(import.meta.filename)
const logger = pino({ level: 'silent' })
const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]
const external: PoolSpecInput = { models, replicas: 2, scaling: { owner: 'external' } }

describe.skipIf(!cluster)('the pools of a release', () => {
  const namespace = useNamespace(cluster)
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
  })

  /** An upgrade of a release of its own, with this pool in its values. */
  async function upgrade(kube: KubeClient, name: string, spec: PoolSpecInput) {
    await kube.apply(configMaps, buildConfigMap(name, { [name]: JSON.stringify(spec) }))
    await applyPools(kube, name, logger)
    return (await kube.get(tritonPools, name))?.spec
  }
  const scale = (kube: KubeClient, name: string, replicas: number) =>
    kube.mergePatch(tritonPools, name, { spec: { replicas } }, { subresource: 'scale' })

  it('begin with the number in the values, and follow it until a scaler writes another', async () => {
    const kube = namespace.kube()
    expect(await upgrade(kube, 'fresh', external)).toMatchObject({ replicas: 2 })
    expect(await upgrade(kube, 'fresh', { ...external, replicas: 3 })).toMatchObject({ replicas: 3 })
  })

  it("keep a scaler's number through an upgrade, which changes all else", async () => {
    const kube = namespace.kube()
    await upgrade(kube, 'scaled', external)
    // A client of its own name, as an autoscaler has.
    await scale(namespace.client().kube, 'scaled', 7)
    const changed = { ...external, slotsPerPod: 4 }
    expect(await upgrade(kube, 'scaled', changed)).toMatchObject({ replicas: 7, slotsPerPod: 4 })
    await scale(kube, 'scaled', 0)
    expect(await upgrade(kube, 'scaled', external)).toMatchObject({ replicas: 0 })
  })

  it('are refused by what is wrong with them, and not for a number that is left out', async () => {
    const wrong = { ...external, scaling: { owner: 'external', minReplicas: 3 } } as const
    await expect(upgrade(namespace.kube(), 'wrong', wrong)).rejects.toThrow('an external owner decides alone')
  })
})
