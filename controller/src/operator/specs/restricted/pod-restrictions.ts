// What a pool's pods may be unless the install allows more (A60): within Pod Security `restricted`, without a service
// account that the install does not list (A167), without a Secret but that of its models. The judge reads the pod
// template after the patch and knows the allowed fields: a field of tomorrow's Kubernetes is refused until this file
// names it. The rules of the definition (pool/spec/pod-patch.ts) refuse most of it sooner, when the pool is written.
import { isObject, type Json, type JsonObject } from '../merge-patch.ts'

type Judge = (value: Json, path: string) => readonly string[]

const fine: Judge = () => []
const refused: Judge = (_value, path) => [path]
const only =
  (...allowed: readonly Json[]): Judge =>
  (value, path) =>
    allowed.includes(value) ? [] : [path]

/** Members by name; any other is refused, and null is absent, as in a patch. */
const members =
  (judges: Readonly<Record<string, Judge>>): Judge =>
  (value, path) => {
    if (value === null) return []
    if (!isObject(value)) return [path]
    return Object.entries(value).flatMap(([name, member]) =>
      member === null ? [] : judgeOf(judges, name)(member, `${path}.${name}`),
    )
  }
/** Of names that the table itself has: `valueOf` is none. */
const judgeOf = (judges: Readonly<Record<string, Judge>>, name: string): Judge =>
  Object.hasOwn(judges, name) ? (judges[name] ?? refused) : refused
const each =
  (judge: Judge): Judge =>
  (value, path) =>
    Array.isArray(value) ? value.flatMap((item: Json, index) => judge(item, `${path}[${index}]`)) : [path]
/** The whole is named, not the member that is wrong: it has to be replaced as a whole. */
const whole =
  (judge: Judge): Judge =>
  (value, path) =>
    judge(value, path).length === 0 ? [] : [path]
const both =
  (first: Judge, second: Judge): Judge =>
  (value, path) => [...new Set([...first(value, path), ...second(value, path)])]
const required =
  (...names: readonly string[]): Judge =>
  (value, path) =>
    names.filter((name) => !isObject(value) || (value[name] ?? null) === null).map((name) => `${path}.${name}`)
const named = (names: string): Record<string, Judge> =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, fine]))

const notRoot: Judge = (value, path) => (value === 0 ? [path] : [])
const profile = whole(
  both(members({ type: only('RuntimeDefault', 'Localhost'), ...named('localhostProfile') }), required('type')),
)
const user: Readonly<Record<string, Judge>> = {
  runAsNonRoot: only(true),
  runAsUser: notRoot,
  runAsGroup: fine,
  seccompProfile: profile,
  appArmorProfile: profile,
}

const capabilities: Judge = (value, path) => {
  const { add = [], drop = [] } = (isObject(value) ? value : {}) as { add?: Json; drop?: Json }
  const isFine =
    Array.isArray(add) && add.every((one) => one === 'NET_BIND_SERVICE') && Array.isArray(drop) && drop.includes('ALL')
  return isFine ? [] : [path]
}

const containerSecurity = both(
  members({
    ...user,
    ...named('readOnlyRootFilesystem'),
    privileged: only(false),
    allowPrivilegeEscalation: only(false),
    procMount: only('Default'),
    capabilities,
  }),
  required('allowPrivilegeEscalation', 'capabilities'),
)

/** The kubelet makes the call: it must not reach what the pod itself could not. */
const call = members({
  ...named('exec sleep grpc'),
  ...named('initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold'),
  terminationGracePeriodSeconds: fine,
  httpGet: members(named('path port scheme httpHeaders')),
  tcpSocket: members(named('port')),
})
const probe = whole(call)

const environment = (ownSecret: string | undefined): Judge =>
  each(
    whole(
      members({
        ...named('name value'),
        valueFrom: members({
          ...named('fieldRef resourceFieldRef configMapKeyRef'),
          secretKeyRef: members({
            ...named('key optional'),
            name: ownSecret === undefined ? refused : only(ownSecret),
          }),
        }),
      }),
    ),
  )

const containers = (ownSecret: string | undefined): Judge =>
  each(
    both(
      members({
        ...named('name image imagePullPolicy command args workingDir resources resizePolicy restartPolicy'),
        ...named('restartPolicyRules volumeMounts volumeDevices terminationMessagePath terminationMessagePolicy'),
        ...named('stdin stdinOnce tty'),
        env: environment(ownSecret),
        envFrom: each(whole(members(named('prefix configMapRef')))),
        ports: each(whole(members({ ...named('name containerPort protocol'), hostPort: only(0) }))),
        livenessProbe: probe,
        readinessProbe: probe,
        startupProbe: probe,
        lifecycle: whole(members({ ...named('stopSignal'), postStart: call, preStop: call })),
        securityContext: containerSecurity,
      }),
      required('securityContext'),
    ),
  )

/** Copies of other claims could be those of a database. */
const newClaim = members({
  volumeClaimTemplate: members({
    ...named('metadata'),
    spec: members(named('accessModes resources selector storageClassName volumeMode volumeAttributesClassName')),
  }),
})

const volume = members({
  ...named('name configMap downwardAPI emptyDir image persistentVolumeClaim'),
  ephemeral: newClaim,
})

const podSecurity = both(
  members({ ...user, ...named('fsGroup fsGroupChangePolicy supplementalGroups supplementalGroupsPolicy') }),
  required('runAsNonRoot', 'seccompProfile'),
)

const podSpec = ({ ownSecret, serviceAccounts }: Allowed): Judge =>
  both(
    members({
      ...named('activeDeadlineSeconds affinity dnsConfig dnsPolicy enableServiceLinks hostAliases hostname'),
      ...named('hostnameOverride imagePullSecrets nodeSelector os preemptionPolicy priorityClassName readinessGates'),
      ...named('resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates'),
      ...named('setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations'),
      ...named('topologySpreadConstraints'),
      serviceAccountName: only(...serviceAccounts),
      automountServiceAccountToken: only(false),
      hostNetwork: only(false),
      hostPID: only(false),
      hostIPC: only(false),
      hostUsers: only(false),
      securityContext: podSecurity,
      volumes: each(volume),
      containers: containers(ownSecret),
      initContainers: containers(ownSecret),
    }),
    required('automountServiceAccountToken', 'securityContext'),
  )

const annotations: Judge = (value, path) =>
  isObject(value) && Object.keys(value).some((name) => name.startsWith('container.apparmor.security')) ? [path] : []

/** Names that a pool's pods can refer to. */
type Allowed = {
  /** Secret of the pool's models from S3. */
  readonly ownSecret: string | undefined
  readonly serviceAccounts: readonly string[]
}

/** Path of the one refused field that the administrator can allow by name. */
export const serviceAccountPath = 'spec.serviceAccountName'

/** Paths in a pod template of what no pool may have; none in the template that Matte builds by itself. */
export function findRefusedFields(template: JsonObject, allowed: Allowed): readonly string[] {
  const { metadata = null, spec = null } = template
  return [...members({ labels: fine, annotations })(metadata, 'metadata'), ...podSpec(allowed)(spec, 'spec')]
}
