// The CustomResourceDefinition of TritonPools, one per cluster. Helm takes over neither a kept one nor that of other
// tests, so it is deleted before and after each release of these tests.
import { run } from '../../chart/helm.ts'

const definition = ['crd', 'tritonpools.matte.dev']

/** @throws Error if pools exist, because they would be deleted too */
export async function removeDefinition(): Promise<void> {
  const pools = await run('kubectl', ['get', 'tritonpools', '-A', '-o', 'name', '--request-timeout=5s'])
  if (pools.failed) return // there is no definition, or no cluster
  if (pools.stdout.trim() !== '') {
    throw new Error(`the cluster has TritonPools, which these tests would delete:\n${pools.stdout}`)
  }
  await run('kubectl', ['delete', ...definition])
}
