// An admission policy that lets one object of one pool not be changed: the leader leaves that pool alone, since a
// former leader could still write there, and leads the others.
import { events, podDisruptionBudgets, type Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const group = 'admissionregistration.k8s.io'
const of = (kind: string, plural: string): Resource<KubeObject> => ({
  group,
  version: 'v1',
  plural,
  kind,
  clusterScoped: true,
})
const policies = of('ValidatingAdmissionPolicy', 'validatingadmissionpolicies')
const bindings = of('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings')

describe.skipIf(!cluster)('a leader whose fencing token an object refuses', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let operator: TestOperator
  const start = async () => {
    operator = await startOperator({ db: database.db, namespace: namespace.name() })
  }
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
    await start()
  })
  afterAll(async () => {
    await operator?.stop()
    await allow()
  })

  /** Nobody may change the budget of this pool. */
  async function refuse(pool: string): Promise<void> {
    const kube = namespace.kube()
    const name = namespace.name()
    const object = (kind: string, spec: object): KubeObject =>
      ({ apiVersion: `${group}/v1`, kind, metadata: { name }, spec }) as KubeObject
    const rule = { apiGroups: ['policy'], apiVersions: ['v1'], resources: ['poddisruptionbudgets'] }
    await kube.create(
      policies,
      object(policies.kind, {
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
          resourceRules: [{ ...rule, operations: ['UPDATE'] }],
        },
        validations: [{ expression: `object.metadata.name != '${pool}'`, message: 'not this one' }],
      }),
    )
    await kube.create(bindings, object(bindings.kind, { policyName: name, validationActions: ['Deny'] }))
    let tries = 0
    await until('the policy is in force', () => {
      const annotations = { tries: String(tries++) }
      return kube.mergePatch(podDisruptionBudgets, pool, { metadata: { annotations } }).then(
        () => false,
        () => true,
      )
    })
  }

  async function allow(): Promise<void> {
    await namespace.kube().delete(bindings, namespace.name())
    await namespace.kube().delete(policies, namespace.name())
  }

  it('leaves the pool of that object alone, says so, and leads the others', async () => {
    for (const name of ['closed', 'open']) {
      await pools.apply(name)
      await pools.until(name, 'serves', (now) => reasonOf(now, 'Ready') === 'Available')
    }
    await operator.stop()
    await refuse('closed')
    const two = { scaling: { minReplicas: 2 } }
    const { metadata } = await pools.apply('closed', two)
    await pools.apply('open', two)
    await start()
    await pools.until('open', 'has grown', ({ readyReplicas }) => readyReplicas === 2)
    const event = await until('an Event says so', async () => {
      const { items } = await namespace.kube().list(events)
      return items.find(({ reason, involvedObject }) => reason === 'ChangeRefused' && involvedObject.name === 'closed')
    })
    expect(event.message).toMatch(/^PodDisruptionBudget closed refuses the leader's fencing token.*not this one/)
    expect((await pools.get('closed')).status?.observedGeneration).toBeLessThan(metadata.generation ?? 0)
    expect((await pools.deployments('closed')).map(({ spec }) => spec.replicas)).toEqual([1])
    await allow()
    await pools.until('closed', 'is led again', ({ readyReplicas }) => readyReplicas === 2)
  })
})
