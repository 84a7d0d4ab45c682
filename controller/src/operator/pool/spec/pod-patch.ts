// Schema of podPatch, which is either unrestricted or limited to Pod Security's restricted profile. CEL rules see only
// declared fields, so the relevant ones are declared here. The operator checks the resulting pod
// (specs/pod-restrictions.ts).
import { type TProperties, type TSchema, Type } from 'typebox'

export type PodPatchForm = 'restricted' | 'any'

export type PodPatchPolicy = {
  readonly form: PodPatchForm
  readonly serviceAccounts: readonly string[]
  readonly priorityClasses: readonly string[]
}

type Rule = { readonly rule: string; readonly message: string }

const open = (description: string, properties: TProperties, rule?: Rule): TSchema =>
  Type.Unsafe<object>({
    type: 'object',
    description,
    'x-kubernetes-preserve-unknown-fields': true,
    properties,
    ...(rule && { 'x-kubernetes-validations': [rule] }),
  })

const anything = (description: string) => open(description, {})
const text = (description: string) => Type.String({ description, maxLength: 253 })
const flag = (description: string) => Type.Boolean({ description })
/** Bounds limit the cost that Kubernetes estimates for the rules. */
const list = (description: string, items: TSchema, maxItems: number) =>
  Type.Array(items, { description, maxItems, 'x-kubernetes-list-type': 'atomic' })

const allowedBy =
  '; the administrator of the operator can allow it with POD_PATCH=any and its definition (docs/operator.md)'
const ruleOf = (rule: string, message: string): Rule => ({ rule, message: `${message}${allowedBy}` })

const isAbsentOr = (path: string, condition: string): string => `(!has(self.${path}) || ${condition})`
const isFalse = (name: string): string => isAbsentOr(name, `!self.${name}`)

const userFields = {
  runAsNonRoot: flag('Not false.'),
  runAsUser: Type.Integer({ description: 'User id, 0 to 2147483647, and not 0.', minimum: 0, maximum: 2_147_483_647 }),
  seccompProfile: open('Seccomp profile.', { type: text('Not Unconfined.') }),
}
const userRules = [
  isAbsentOr('runAsNonRoot', 'self.runAsNonRoot'),
  isAbsentOr('runAsUser', 'self.runAsUser != 0'),
  isAbsentOr('seccompProfile', "!has(self.seccompProfile.type) || self.seccompProfile.type != 'Unconfined'"),
]

const podSecurity = open(
  'Security context of the pod.',
  { ...userFields, sysctls: list('Not allowed.', anything('A sysctl.'), 32) },
  ruleOf(
    [...userRules, '!has(self.sysctls)'].join(' && '),
    'pods of a pool run as non-root, with a seccomp profile and without sysctls: remove the other settings',
  ),
)

const containerSecurity = open(
  'Security context of a container.',
  {
    ...userFields,
    privileged: flag('Not true.'),
    allowPrivilegeEscalation: flag('Not true.'),
    procMount: text('Default or nothing.'),
    capabilities: open('Linux capabilities.', {
      add: list('NET_BIND_SERVICE or nothing.', text('A capability.'), 64),
      drop: list('Includes ALL.', text('A capability.'), 64),
    }),
  },
  ruleOf(
    [
      ...userRules,
      isFalse('privileged'),
      isFalse('allowPrivilegeEscalation'),
      isAbsentOr('procMount', "self.procMount == 'Default'"),
      isAbsentOr('capabilities', "has(self.capabilities.drop) && self.capabilities.drop.exists(one, one == 'ALL')"),
      isAbsentOr(
        'capabilities',
        "!has(self.capabilities.add) || self.capabilities.add.all(one, one == 'NET_BIND_SERVICE')",
      ),
    ].join(' && '),
    'containers of a pool are unprivileged, run as non-root and drop ALL capabilities: remove the other ' +
      'settings from the securityContext',
  ),
)

const variable = open('A variable.', {
  valueFrom: open('Source of the value.', {
    secretKeyRef: open('Only the Secret of the models from S3.', { name: text('Name of the Secret.') }),
  }),
})

const container = open(
  'A container.',
  {
    securityContext: containerSecurity,
    env: list('Variables.', variable, 64),
    envFrom: list('Sources of variables.', open('A source.', { secretRef: anything('Not allowed.') }), 16),
    ports: list(
      'Ports.',
      open('A port.', {
        hostPort: Type.Integer({
          description: 'Port of the node, 0 to 65535, and only 0.',
          minimum: 0,
          maximum: 65_535,
        }),
      }),
      32,
    ),
  },
  ruleOf(
    [
      isAbsentOr('envFrom', 'self.envFrom.all(one, !has(one.secretRef))'),
      isAbsentOr('ports', 'self.ports.all(one, !has(one.hostPort) || one.hostPort == 0)'),
    ].join(' && '),
    'containers of a pool take no Secret by envFrom and no hostPort: remove them',
  ),
)

const volume = open(
  'A volume.',
  {
    hostPath: anything('Not allowed.'),
    secret: anything('Not allowed.'),
    projected: anything('Not allowed.'),
    csi: anything('Not allowed.'),
  },
  ruleOf(
    '!has(self.hostPath) && !has(self.secret) && !has(self.projected) && !has(self.csi)',
    'volumes of a pool are emptyDir, configMap, downwardAPI, ephemeral, image or persistentVolumeClaim: use one of ' +
      'these',
  ),
)

const podSpec = open(
  'Patch of the pod spec.',
  {
    // CEL cannot read settings, so the operator and the chart's admission policy check the names.
    serviceAccountName: Type.String({
      description: 'A name that operator.podServiceAccounts of the chart (POD_SERVICE_ACCOUNTS) lists.',
      maxLength: 253,
      pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
    }),
    priorityClassName: Type.String({
      description: 'A name that operator.podPriorityClasses of the chart (POD_PRIORITY_CLASSES) lists.',
      maxLength: 253,
      pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
    }),
    serviceAccount: text('Not allowed.'),
    automountServiceAccountToken: flag('Not true.'),
    hostNetwork: flag('Not true.'),
    hostPID: flag('Not true.'),
    hostIPC: flag('Not true.'),
    securityContext: podSecurity,
    volumes: list('Volumes.', volume, 64),
    containers: list('Containers.', container, 8),
    initContainers: list('Init containers.', container, 8),
  },
  ruleOf(
    [
      '!has(self.serviceAccount)',
      ...['automountServiceAccountToken', 'hostNetwork', 'hostPID', 'hostIPC'].map(isFalse),
    ].join(' && '),
    'pods of a pool have no service account token and no host namespaces: remove serviceAccount, ' +
      'automountServiceAccountToken, hostNetwork, hostPID and hostIPC',
  ),
)

const namesOwnSecret = (containers: string): string => {
  const path = `self.podPatch.spec.${containers}`
  const own =
    'self.models.exists(model, has(model.source.s3) && has(model.source.s3.secretName) && ' +
    'model.source.s3.secretName == one.valueFrom.secretKeyRef.name)'
  const isSecret = 'has(one.valueFrom) && has(one.valueFrom.secretKeyRef)'
  const isOwn = `!(${isSecret}) || (has(one.valueFrom.secretKeyRef.name) && ${own})`
  return `(!has(${path}) || ${path}.all(container, !has(container.env) || container.env.all(one, ${isOwn})))`
}

/** Rule on the whole spec, because it reads the Secret of the models. */
export const secretRule: Rule & { readonly fieldPath: string } = {
  ...ruleOf(
    `!has(self.podPatch) || !has(self.podPatch.spec) || (${namesOwnSecret('containers')} && ` +
      `${namesOwnSecret('initContainers')})`,
    'variables of a pool may read only the Secret of its models from S3: remove secretKeyRef',
  ),
  fieldPath: '.podPatch',
}

export const restrictedFields = { spec: podSpec }
