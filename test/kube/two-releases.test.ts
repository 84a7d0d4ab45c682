// Two releases in one namespace: each operator has its own Lease and runs its own pools, and each worker routes only to
// these.
import { leases } from '@matte/controller/operator/kube/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { modelOf, poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

describe.skipIf(!cluster)('two releases in one namespace', () => {
  // Each release has a database, so both may use the same names of models.
  const databases = [useDatabase(), useDatabase()] as const
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let first: TestOperator
  let second: TestOperator

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    const common = { namespace: namespace.name() }
    const releases = [
      { name: 'first', unlabelledPools: true },
      { name: 'second', unlabelledPools: false },
    ] as const
    first = await startOperator({ ...common, db: databases[0].db, release: releases[0] })
    second = await startOperator({ ...common, db: databases[1].db, release: releases[1] })
  })
  afterAll(async () => {
    await second?.stop()
    await first?.stop()
  })

  it('run their own pools and route only to these', async () => {
    const kube = namespace.kube()
    const spec = { replicas: 1, scaling: { owner: 'external' }, models: [modelOf('same')] } as const
    await pools.apply('plain', spec)
    await pools.apply('marked', spec, { 'matte.dev/release': 'second' })
    for (const name of ['plain', 'marked']) {
      await pools.until(name, 'serves', (now) => reasonOf(now, 'Ready') === 'Available')
    }
    await until(
      'each worker routes to its pool',
      () => first.routes('plain').length + second.routes('marked').length === 2,
    )
    expect([first.routes('marked'), second.routes('plain')]).toEqual([[], []])

    const leaseOf = async (name: string) => (await kube.get(leases, name))?.metadata.uid
    const leaderOf = async (name: string) => (await pools.get(name)).status?.leaderLease
    expect(await leaderOf('plain')).toBe(await leaseOf('matte-controller'))
    expect(await leaderOf('marked')).toBe(await leaseOf('second-operator'))

    const labelsOf = async (name: string) =>
      (await pools.pods(name)).map((pod) => pod.metadata.labels?.['matte.dev/release'])
    expect(await labelsOf('plain')).toEqual([undefined])
    expect(await labelsOf('marked')).toEqual(['second'])
  })

  it('do not change each other’s pools when a leader begins', async () => {
    const kube = namespace.kube()
    const versions = async () => {
      const deployments = await pools.deployments('plain')
      const { status } = await pools.get('plain')
      return [deployments.map(({ metadata }) => metadata.annotations?.['matte.dev/leader-term']), status?.leaderTerm]
    }
    const before = await versions()
    const termOf = async () => (await pools.get('marked')).status?.leaderTerm
    const term = await termOf()
    await kube.mergePatch(leases, 'second-operator', { spec: { holderIdentity: '' } })
    await until('the second release has another term', async () => (await termOf()) !== term)
    expect(await versions()).toEqual(before)
  })
})
