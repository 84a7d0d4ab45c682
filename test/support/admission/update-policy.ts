// Manifests of a ValidatingAdmissionPolicy that rejects updates in a namespace, as an administrator could add one while
// a pool runs. Kubernetes' own controllers stay allowed.
import type { KubeObject } from '@matte/controller/operator/kube/objects'

export const admissionGroup = 'admissionregistration.k8s.io'

export type RefusedUpdates = {
  /** Group of the API, and resources with their subresources. */
  readonly resources: readonly (readonly [group: string, ...resources: string[]])[]
  /** CEL expression for the rejected updates. */
  readonly of: string
}

/** A policy and its binding, named like the namespace. It also rejects updates of budgets with the label `probe`. */
export function buildUpdatePolicy(
  namespace: string,
  { resources, of }: RefusedUpdates,
): { readonly policy: KubeObject; readonly binding: KubeObject } {
  const object = (kind: string, spec: object): KubeObject =>
    ({ apiVersion: `${admissionGroup}/v1`, kind, metadata: { name: namespace }, spec }) as KubeObject
  const plurals = JSON.stringify(resources.flatMap(([, ...names]) => names.map((one) => one.split('/')[0])))
  const isRefused = `request.resource.resource in ${plurals} && (${of})`
  const rules = [...resources, ['policy', 'poddisruptionbudgets'] as const]
  const policy = object('ValidatingAdmissionPolicy', {
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      resourceRules: rules.map(([apiGroup, ...names]) => ({
        apiGroups: [apiGroup],
        apiVersions: ['*'],
        resources: names,
        operations: ['UPDATE'],
      })),
    },
    matchConditions: [
      {
        name: 'not-kubernetes',
        expression:
          "!request.userInfo.username.startsWith('system:node:') && " +
          "!request.userInfo.username.startsWith('system:kube-') && " +
          "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:')",
      },
    ],
    validations: [
      { expression: `!(${isRefused}) && !('probe' in object.metadata.?labels.orValue({}))`, message: 'not this one' },
    ],
  })
  const binding = object('ValidatingAdmissionPolicyBinding', { policyName: namespace, validationActions: ['Deny'] })
  return { policy, binding }
}
