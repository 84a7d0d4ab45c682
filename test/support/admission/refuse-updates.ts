import {
  type KubeClient,
  type KubeError,
  podDisruptionBudgets,
  type Resource,
} from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { until } from '../until.ts'
import { admissionGroup, buildUpdatePolicy, type RefusedUpdates } from './update-policy.ts'

const resourceOf = (kind: string, plural: string): Resource<KubeObject> => ({
  group: admissionGroup,
  version: 'v1',
  plural,
  kind,
  clusterScoped: true,
})
const policies = resourceOf('ValidatingAdmissionPolicy', 'validatingadmissionpolicies')
const bindings = resourceOf('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings')

/** Rejects updates in the namespace of `kube`. Resolves when the policy is in force. */
export async function refuseUpdates(kube: KubeClient, refused: RefusedUpdates): Promise<void> {
  const { policy, binding } = buildUpdatePolicy(kube.namespace, refused)
  await kube.create(policies, policy)
  await kube.create(bindings, binding)
  const labels = { probe: 'true' }
  await kube.create(podDisruptionBudgets, {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'probe', labels } },
    spec: { selector: { matchLabels: labels } },
  })
  let tries = 0
  await until('the policy is in force', () =>
    kube.mergePatch(podDisruptionBudgets, 'probe', { metadata: { annotations: { tries: String(tries++) } } }).then(
      () => false,
      (error: KubeError) => error.status === 422 || error.status === 403,
    ),
  )
  await kube.delete(podDisruptionBudgets, 'probe')
}

export async function allowUpdates(kube: KubeClient): Promise<void> {
  await kube.delete(bindings, kube.namespace)
  await kube.delete(policies, kube.namespace)
}
