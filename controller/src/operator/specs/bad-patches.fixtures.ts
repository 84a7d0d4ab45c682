// Patches that would let a pool take over the namespace. The definition's rules reject all but the last group at the
// API server (test/kube/pod-patch.test.ts); the operator refuses all.
type Patch = Readonly<Record<string, unknown>>
type Row = readonly [what: string, patch: Patch, path: string]

const triton = { name: 'triton', image: 'example/triton:1' }
const ofSpec = (spec: Patch): Patch => ({ spec })
const ofContainer = (more: Patch): Patch => ofSpec({ containers: [triton, { name: 'side', image: 'x', ...more }] })
const ofVolume = (source: Patch): Patch => ofSpec({ volumes: [{ name: 'v', ...source }] })
const secured = (securityContext: Patch): Patch => ofContainer({ securityContext })
const env = (valueFrom: Patch): Patch => ofContainer({ env: [{ name: 'A', valueFrom }] })

/** An allowed service account, and an allowed PriorityClass. */
export const listedAccount = 'models-reader'
export const listedPriorityClass = 'serving'

/** Name, patch, and the path that the operator reports. */
export const refusedByBoth: readonly Row[] = [
  ['a service account by the deprecated field', ofSpec({ serviceAccount: 'admin' }), 'spec.serviceAccount'],
  [
    'the token of a listed account',
    ofSpec({ serviceAccountName: listedAccount, automountServiceAccountToken: true }),
    'spec.automountServiceAccountToken',
  ],
  ['its token', ofSpec({ automountServiceAccountToken: true }), 'spec.automountServiceAccountToken'],
  ['the network of the node', ofSpec({ hostNetwork: true }), 'spec.hostNetwork'],
  ['the processes of the node', ofSpec({ hostPID: true }), 'spec.hostPID'],
  ['the memory of the node', ofSpec({ hostIPC: true }), 'spec.hostIPC'],
  ['root for the pod', ofSpec({ securityContext: { runAsUser: 0 } }), 'spec.securityContext.runAsUser'],
  ['perhaps root', ofSpec({ securityContext: { runAsNonRoot: false } }), 'spec.securityContext.runAsNonRoot'],
  [
    'every system call',
    ofSpec({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    'spec.securityContext.seccompProfile',
  ],
  [
    'settings of the kernel',
    ofSpec({ securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
    'spec.securityContext.sysctls',
  ],
  ['files of the node', ofVolume({ hostPath: { path: '/' } }), 'spec.volumes[0].hostPath'],
  ['a Secret as files', ofVolume({ secret: { secretName: 'matte' } }), 'spec.volumes[0].secret'],
  [
    'a token as files',
    ofVolume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }),
    'spec.volumes[0].projected',
  ],
  ['a CSI driver', ofVolume({ csi: { driver: 'secrets-store.csi.k8s.io' } }), 'spec.volumes[0].csi'],
  ['a privileged container', secured({ privileged: true }), 'spec.containers[1].securityContext.privileged'],
  [
    'more rights than its parent',
    secured({ allowPrivilegeEscalation: true }),
    'spec.containers[1].securityContext.allowPrivilegeEscalation',
  ],
  [
    'a capability',
    secured({ capabilities: { add: ['SYS_ADMIN'] } }),
    'spec.containers[1].securityContext.capabilities',
  ],
  ['all capabilities', secured({ capabilities: {} }), 'spec.containers[1].securityContext.capabilities'],
  ['root for a container', secured({ runAsUser: 0 }), 'spec.containers[1].securityContext.runAsUser'],
  [
    'possibly root for a container',
    secured({ runAsNonRoot: false }),
    'spec.containers[1].securityContext.runAsNonRoot',
  ],
  ['an open /proc', secured({ procMount: 'Unmasked' }), 'spec.containers[1].securityContext.procMount'],
  [
    'every system call for a container',
    secured({ seccompProfile: { type: 'Unconfined' } }),
    'spec.containers[1].securityContext.seccompProfile',
  ],
  [
    'a privileged init container',
    ofSpec({ initContainers: [{ name: 'first', image: 'x', securityContext: { privileged: true } }] }),
    'spec.initContainers[0].securityContext.privileged',
  ],
  ['a port of the node', ofContainer({ ports: [{ containerPort: 80, hostPort: 80 }] }), 'spec.containers[1].ports[0]'],
  ['a Secret in a variable', env({ secretKeyRef: { name: 'matte', key: 'url' } }), 'spec.containers[1].env[0]'],
  [
    'a Secret in all variables',
    ofContainer({ envFrom: [{ secretRef: { name: 'm' } }] }),
    'spec.containers[1].envFrom[0]',
  ],
]

/** The definition's rules cannot see these: rare or unknown fields, and names that depend on a setting. */
export const refusedByController: readonly Row[] = [
  ['the service account of the API', ofSpec({ serviceAccountName: 'matte-api' }), 'spec.serviceAccountName'],
  ['the service account of the operator', ofSpec({ serviceAccountName: 'matte-operator' }), 'spec.serviceAccountName'],
  ['a part of a listed name', ofSpec({ serviceAccountName: 'models' }), 'spec.serviceAccountName'],
  ['a PriorityClass of the system', ofSpec({ priorityClassName: 'system-node-critical' }), 'spec.priorityClassName'],
  ['a PriorityClass that is not listed', ofSpec({ priorityClassName: 'serving-first' }), 'spec.priorityClassName'],
  // The definition drops a null of a declared field; an older one keeps it.
  ['its token by default', ofSpec({ automountServiceAccountToken: null }), 'spec.automountServiceAccountToken'],
  [
    'perhaps root, by default',
    ofSpec({ securityContext: { runAsNonRoot: null } }),
    'spec.securityContext.runAsNonRoot',
  ],
  ['no security context', ofSpec({ securityContext: null }), 'spec.securityContext'],
  ['a field that this version does not know', ofSpec({ hostTomorrow: true }), 'spec.hostTomorrow'],
  ['a node without the scheduler', ofSpec({ nodeName: 'node1' }), 'spec.nodeName'],
  ['an ephemeral container', ofSpec({ ephemeralContainers: [triton] }), 'spec.ephemeralContainers'],
  [
    'a copy of a claim',
    ofVolume({
      ephemeral: { volumeClaimTemplate: { spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'a' } } } },
    }),
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource',
  ],
  [
    'a copy of any object',
    ofVolume({
      ephemeral: { volumeClaimTemplate: { spec: { dataSourceRef: { kind: 'VolumeSnapshot', name: 'a' } } } },
    }),
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSourceRef',
  ],
  ['an NFS volume', ofVolume({ nfs: { server: 'a', path: '/' } }), 'spec.volumes[0].nfs'],
  [
    'SELinux labels',
    secured({ seLinuxOptions: { type: 'spc_t' } }),
    'spec.containers[1].securityContext.seLinuxOptions',
  ],
  [
    'no AppArmor',
    secured({ appArmorProfile: { type: 'Unconfined' } }),
    'spec.containers[1].securityContext.appArmorProfile',
  ],
  [
    'no AppArmor, by an annotation',
    { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/triton': 'unconfined' } } },
    'metadata.annotations',
  ],
  ['a finalizer', { metadata: { finalizers: ['a/b'] } }, 'metadata.finalizers'],
  [
    'a probe of another host',
    ofContainer({ livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } }),
    'spec.containers[1].livenessProbe',
  ],
  [
    'a hook that calls another host',
    ofContainer({ lifecycle: { preStop: { httpGet: { host: 'a', port: 80 } } } }),
    'spec.containers[1].lifecycle',
  ],
  ['no pod', { spec: null }, 'spec.automountServiceAccountToken'],
]

/** Patches that are allowed. */
export const taken: readonly (readonly [what: string, patch: Patch])[] = [
  ['metadata', { metadata: { labels: { team: 'images' }, annotations: { note: 'x' } } }],
  ['a listed service account', ofSpec({ serviceAccountName: listedAccount, automountServiceAccountToken: false })],
  [
    'the label of AKS workload identity',
    { metadata: { labels: { 'azure.workload.identity/use': 'true' } }, spec: { serviceAccountName: listedAccount } },
  ],
  [
    'scheduling',
    ofSpec({
      priorityClassName: listedPriorityClass,
      runtimeClassName: 'nvidia',
      schedulerName: 'batch',
      nodeSelector: { a: 'b' },
      tolerations: [{ operator: 'Exists' }],
      topologySpreadConstraints: [],
      affinity: {},
      terminationGracePeriodSeconds: 300,
    }),
  ],
  [
    'its network',
    ofSpec({ dnsPolicy: 'None', dnsConfig: { nameservers: ['10.0.0.1'] }, hostAliases: [], hostNetwork: false }),
  ],
  ['registry credentials, which only the kubelet reads', ofSpec({ imagePullSecrets: [{ name: 'registry' }] })],
  [
    'volumes',
    ofSpec({
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', configMap: { name: 'c' } },
        { name: 'd', persistentVolumeClaim: { claimName: 'e' } },
        { name: 'f', ephemeral: { volumeClaimTemplate: { spec: {} } } },
        { name: 'g', downwardAPI: { items: [] } },
        { name: 'h', image: { reference: 'x' } },
      ],
    }),
  ],
  [
    'a side-car',
    ofContainer({
      args: ['x'],
      env: [
        { name: 'A', value: 'b' },
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'C', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
      ],
      envFrom: [{ configMapRef: { name: 'c' } }],
      ports: [{ containerPort: 9_000 }],
      resources: { limits: { cpu: '1' } },
      livenessProbe: { httpGet: { path: '/', port: 9_000 } },
      securityContext: { runAsUser: 1_001, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
    }),
  ],
  [
    'devices by dynamic resource allocation',
    ofSpec({
      resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }],
      containers: [{ ...triton, resources: { claims: [{ name: 'gpu' }] } }],
    }),
  ],
  ['an init container', ofSpec({ initContainers: [{ name: 'fetch', image: 'x', command: ['true'] }] })],
  ['other users', ofSpec({ securityContext: { runAsUser: 2_000, fsGroup: null, supplementalGroups: [1] } })],
]
