// Restrictions of a pool's pods unless the install allows more: Pod Security `restricted`, listed service accounts and
// PriorityClasses, and no Secret except that of its models. Checks the patched pod template against known fields; new
// fields of Kubernetes are refused until listed here. The rules of the definition (pool/spec/pod-patch.ts) reject most
// of it earlier.

import { judgeLicences, type LicencePolicy } from '@matte/core/model/licence-policy'
import { KubeError } from '../kube/client.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { PodPatchPolicy } from '../pool/spec/pod-patch.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { isObject, type Json, type JsonObject } from './json.ts'
import { secretOf } from './pod-template.ts'

type Judge = (value: Json, path: string) => readonly string[]

const fine: Judge = () => []
const refused: Judge = (_value, path) => [path]
const only =
  (...allowed: readonly Json[]): Judge =>
  (value, path) =>
    allowed.includes(value) ? [] : [path]

/** Members by name; others are refused, and null counts as absent, as in a patch. */
const members =
  (judges: Readonly<Record<string, Judge>>): Judge =>
  (value, path) => {
    if (value === null) return []
    if (!isObject(value)) return [path]
    return Object.entries(value).flatMap(([name, member]) =>
      member === null ? [] : judgeOf(judges, name)(member, `${path}.${name}`),
    )
  }
const judgeOf = (judges: Readonly<Record<string, Judge>>, name: string): Judge =>
  Object.hasOwn(judges, name) ? (judges[name] ?? refused) : refused
const each =
  (judge: Judge): Judge =>
  (value, path) =>
    Array.isArray(value) ? value.flatMap((item: Json, index) => judge(item, `${path}[${index}]`)) : [path]
/** Reports the whole, because it has to be replaced as a whole. */
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

/** The kubelet makes the call, so it must not reach targets that the pod cannot. */
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

/** A copy of another claim could contain a database. */
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

const podSpec = ({ ownSecret, serviceAccounts, priorityClasses }: Allowed): Judge =>
  both(
    members({
      ...named('activeDeadlineSeconds affinity dnsConfig dnsPolicy enableServiceLinks hostAliases hostname'),
      ...named('hostnameOverride imagePullSecrets nodeSelector os preemptionPolicy readinessGates'),
      ...named('resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates'),
      ...named('setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations'),
      ...named('topologySpreadConstraints'),
      serviceAccountName: only(...serviceAccounts),
      priorityClassName: only(...priorityClasses),
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

type Allowed = {
  readonly ownSecret: string | undefined
  readonly serviceAccounts: readonly string[]
  readonly priorityClasses: readonly string[]
}

/** Fields whose values the install lists. */
const listed = {
  serviceAccountName: { what: 'service account', setting: 'operator.podServiceAccounts' },
  priorityClassName: { what: 'PriorityClass', setting: 'operator.podPriorityClasses' },
} as const

export function findRefusedFields(template: JsonObject, allowed: Allowed): readonly string[] {
  const { metadata = null, spec = null } = template
  return [...members({ labels: fine, annotations })(metadata, 'metadata'), ...podSpec(allowed)(spec, 'spec')]
}

type Limits = { readonly podPatch: PodPatchPolicy; readonly licences: LicencePolicy }

/** Checked before a write, because the installed definition may be older. @throws KubeError 422 */
export function refusePods({ podPatch, licences }: Limits, pool: TritonPool, object: KubeObject): void {
  if (object.kind !== 'Deployment') return
  refuseLicences(licences, pool)
  if (podPatch.form === 'any') return
  const { spec } = object as KubeObject & { readonly spec?: { readonly template?: Json } }
  const template = spec?.template ?? null
  if (!isObject(template)) return
  const { serviceAccounts, priorityClasses } = podPatch
  const fields = findRefusedFields(template, { ownSecret: secretOf(pool.spec), serviceAccounts, priorityClasses })
  if (fields.length > 0) throw new KubeError(422, 'PodPatchRefused', messageOf(fields, template))
}

function messageOf(fields: readonly string[], { spec = null }: JsonObject): string {
  const byList = Object.entries(listed).filter(([name]) => fields.includes(`spec.${name}`))
  const others = fields.filter((field) => !byList.some(([name]) => field === `spec.${name}`))
  return [
    ...(others.length > 0 ? [`podPatch sets ${others.join(', ')}`] : []),
    ...byList.map(([name, { what, setting }]) => {
      const value = JSON.stringify(isObject(spec) ? spec[name] : null)
      return `the ${what} ${value} is not allowed: add it to ${setting}`
    }),
  ].join('; ')
}

function refuseLicences(policy: LicencePolicy, { spec }: TritonPool): void {
  for (const { name, licence } of spec.models) {
    const refused = licence === undefined ? undefined : judgeLicences(policy, name, [licence])
    if (refused) throw new KubeError(422, 'LicenceRefused', refused.message)
  }
}
