// Pods of Matte's image that a test starts next to a release.
import type { Release } from './release.ts'

type Extra = {
  readonly env?: readonly object[]
  readonly volumes?: readonly object[]
  readonly volumeMounts?: readonly object[]
  readonly nodeName?: string | undefined
}

type PodOptions = Extra & {
  readonly name: string
  readonly image: string
  readonly labels: Readonly<Record<string, string>>
  readonly command: readonly string[]
}

/** As Pod Security's profile `restricted` requires. */
export function buildPod({ name, image, labels, command, env = [], ...rest }: PodOptions): object {
  const { volumes = [], volumeMounts = [], nodeName } = rest
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      ...(nodeName !== undefined && { nodeSelector: { 'kubernetes.io/hostname': nodeName } }),
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'main',
          image,
          command,
          env,
          volumeMounts,
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          resources: { requests: { cpu: '50m', memory: '96Mi' } },
        },
      ],
      volumes,
    },
  }
}

export const testLabels = {
  'app.kubernetes.io/name': 'matte',
  'app.kubernetes.io/instance': 'matte',
  'app.kubernetes.io/component': 'test',
}

export const imageOf = ({ kubectl }: Release): Promise<string> =>
  kubectl('get', 'deploy/matte-api', '-o', 'jsonpath={.spec.template.spec.containers[0].image}')
