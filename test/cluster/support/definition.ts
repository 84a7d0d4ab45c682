// The definition of TritonPools, of which a cluster has one: a release brings it and keeps it, and other tests put
// theirs there. Helm takes over neither, so it goes before and after each release of these tests.
import { run } from '../../chart/helm.ts'

const definition = ['crd', 'tritonpools.matte.dev']

/** @throws Error when somebody has a pool, which would go with it */
export async function removeDefinition(): Promise<void> {
  const pools = await run('kubectl', ['get', 'tritonpools', '-A', '-o', 'name', '--request-timeout=5s'])
  if (pools.failed) return // there is no definition, or no cluster
  if (pools.stdout.trim() !== '') {
    throw new Error(`the cluster has TritonPools, which these tests would delete:\n${pools.stdout}`)
  }
  await run('kubectl', ['delete', ...definition])
}
