// The CustomResourceDefinition. `make gen` writes it to charts/matte/files/crds/tritonpools.matte.dev.yaml.
import { type PodPatchForm, restrictedFields, secretRule } from './spec/pod-patch.ts'
import { group, kind, plural, tritonPoolSchema, version } from './triton-pool.ts'

/** A column of `kubectl get tritonpools`; priority 1 needs `-o wide`. */
type PrinterColumn = {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'date'
  readonly jsonPath: string
  readonly description: string
  readonly priority?: 1
}

export const printerColumns: readonly PrinterColumn[] = [
  {
    name: 'Ready',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    description: 'Whether the pool serves requests; also True for a pool at zero because no requests wait.',
  },
  {
    name: 'Reason',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    description: 'The most important reason; kubectl describe shows its message.',
  },
  { name: 'Model', type: 'string', jsonPath: '.status.modelNames', description: 'The models that each pod loads.' },
  { name: 'Desired', type: 'integer', jsonPath: '.status.desiredReplicas', description: 'Desired pods.' },
  { name: 'Ready Pods', type: 'integer', jsonPath: '.status.readyReplicas', description: 'Pods that serve requests.' },
  {
    name: 'Draining',
    type: 'integer',
    jsonPath: '.status.drainingReplicas',
    description: 'Pods that finish their requests in flight.',
  },
  { name: 'Queue', type: 'integer', jsonPath: '.status.demand.backlog', description: 'Single requests that wait.' },
  {
    name: 'P95',
    type: 'number',
    jsonPath: '.status.demand.p95Seconds',
    description: "95 % of the last minute's requests were done within this many seconds.",
    priority: 1,
  },
  {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    description: 'Time since the pool was created.',
  },
]

export const scalePaths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
} as const

/** A Service's name has at most 63 characters: `<pool>-<revision>`, with eight digits. */
const nameMax = 54

const nameRules = [
  {
    rule: `self.metadata.name.size() <= ${nameMax} && self.metadata.name.matches('^[a-z][-a-z0-9]*$')`,
    message:
      `the name of a pool is the prefix of its Services' names: use at most ${nameMax} characters, lower-case letters, ` +
      'digits and hyphens, and begin with a letter',
  },
]

export type Schema = {
  type?: string
  description?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  items?: Schema
  required?: string[]
  default?: unknown
  'x-kubernetes-list-map-keys'?: string[]
  [keyword: string]: unknown
}

export function buildCrd(podPatch: PodPatchForm = 'restricted') {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: ['tp'],
        categories: ['matte'],
      },
      scope: 'Namespaced',
      // One version, hence no conversion webhook; a changed field gets a new name (A170).
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {}, scale: scalePaths },
          additionalPrinterColumns: printerColumns,
          schema: { openAPIV3Schema: buildSchema(podPatch) },
        },
      ],
    },
  }
}

function buildSchema(podPatch: PodPatchForm): Schema {
  const { properties = {}, description } = JSON.parse(JSON.stringify(tritonPoolSchema)) as Schema
  const { spec = {}, status = {} } = properties
  return {
    type: 'object',
    description: description ?? '',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      // Kubernetes' own bound of a name. It lowers the estimated cost of the CEL rule.
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 253 } } },
      spec: withRequired(podPatch === 'any' ? spec : restrictPodPatch(spec), requireOfUsers),
      status: { ...withRequired(status, requireOfController), default: unobserved },
    },
    'x-kubernetes-validations': nameRules,
  }
}

/** Default until the operator writes a status; kstatus takes an object without observedGeneration as current. */
const unobserved = { observedGeneration: 0 }

/** Merged field by field, server-side apply would turn an emptied patch into null. */
const whole = { 'x-kubernetes-map-type': 'atomic' }

function restrictPodPatch(spec: Schema): Schema {
  const fields = JSON.parse(JSON.stringify(restrictedFields)) as Record<string, Schema>
  const rules = spec['x-kubernetes-validations'] as readonly object[]
  return {
    ...spec,
    properties: { ...spec.properties, podPatch: { ...spec.properties?.podPatch, ...whole, properties: fields } },
    'x-kubernetes-validations': [...rules, secretRule],
  }
}

type RequiredRule = (schema: Schema, keys: readonly string[]) => readonly string[]

const requireOfUsers: RequiredRule = ({ required = [], properties = {} }) =>
  required.filter((name) => properties[name]?.default === undefined)

/** Only list keys: a new leader writes its term first, and a status of another version must be accepted. */
const requireOfController: RequiredRule = (_, keys) => keys

/** Sets `required` by `rule` at every depth. `keys`: map keys of the list that contains the schema. */
function withRequired(schema: Schema, rule: RequiredRule, keys: readonly string[] = []): Schema {
  const { required: _, properties, items, additionalProperties, ...rest } = schema
  const required = rule(schema, keys)
  return {
    ...rest,
    ...(required.length > 0 && { required: [...required] }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, withRequired(property, rule)]),
      ),
    }),
    ...(items && { items: withRequired(items, rule, schema['x-kubernetes-list-map-keys']) }),
    ...(additionalProperties && { additionalProperties: withRequired(additionalProperties, rule) }),
  }
}
