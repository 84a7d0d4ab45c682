import type { LoadedConfig } from '@matte/controller/operator/kube/cluster-access'
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import { buildCrd } from '@matte/controller/operator/pool/crd'
import { group, plural, version } from '@matte/controller/operator/pool/triton-pool'
import { until } from './until.ts'

/**
 * Applies the TritonPool definition of this working tree, like `kubectl apply --server-side` of the generated file, and
 * waits until pools are served. Many files may call it at once. It stays installed, because deleting it would delete
 * all pools of the cluster.
 */
export async function installPoolDefinition(
  { config }: LoadedConfig,
  podPatch: 'restricted' | 'any' = 'restricted',
): Promise<void> {
  const transport = createTransport(config)
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  try {
    const { status, body } = await transport.send({
      method: 'PATCH',
      // kubectl's field manager, so both can apply without conflicts.
      path: `${definitions}/${plural}.${group}?fieldManager=kubectl&force=true`,
      contentType: 'application/apply-patch+yaml',
      body: buildCrd(podPatch),
      timeoutMs: 30_000,
    })
    if (status >= 300) throw new Error(`the definition of TritonPool was refused: ${body}`)
    await until('pools are served', async () => {
      const path = `/apis/${group}/${version}/${plural}?limit=1`
      return (await transport.send({ method: 'GET', path, timeoutMs: 10_000 })).status === 200
    })
  } finally {
    transport.close()
  }
}
