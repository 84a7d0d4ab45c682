import { createTransport } from '@matte/controller/operator/kube/http/transport'
import type { LoadedConfig } from '@matte/controller/operator/kube/load-config'
import { buildCrd } from '@matte/controller/operator/pool/crd'
import { group, plural, version } from '@matte/controller/operator/pool/triton-pool'
import { until } from './until.ts'

/**
 * Makes the definition of TritonPool on the cluster that of this working tree, as `kubectl apply --server-side` of the
 * generated file does, and waits until pools are served. May be called by many files at once. It stays: a definition
 * cannot be taken away without all pools of the cluster.
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
      // The manager that kubectl has, so that the two do not argue about who owns a field.
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
