// Schemas for kubeconform: Kubernetes' kinds from the API server of the kube context, others from the
// CustomResourceDefinitions in their Go modules. Strict: unknown fields are errors.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { parse } from 'yaml'
import { runOrThrow } from '../helm.ts'

type Schema = { readonly [member: string]: unknown }
type Gvk = { readonly group: string; readonly version: string; readonly kind: string }
type OpenApi = { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } }
type Definition = {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[]
  }
}

/** Go module, and its files with CustomResourceDefinitions. */
const modules: readonly (readonly [module: string, files: readonly string[]])[] = [
  [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    ['podmonitors', 'servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  ],
  [
    'sigs.k8s.io/gateway-api@v1.4.1',
    ['gateways', 'httproutes'].map((name) => `config/crd/standard/gateway.networking.k8s.io_${name}.yaml`),
  ],
  ['github.com/kedacore/keda/v2@v2.21.0', ['config/crd/bases/keda.sh_scaledobjects.yaml']],
]

/** kubeconform's path template of the files of `writeSchemas`. */
export const schemaLocation = (dir: string): string =>
  join(dir, '{{.ResourceKind}}_{{.Group}}_{{.ResourceAPIVersion}}.json')

/** The core group has its version as name. */
const fileOf = ({ group, version, kind }: Gvk): string =>
  `${kind.toLowerCase()}_${group === '' ? version : group}_${version}.json`

/** Writes the schemas of these versions (`apps/v1`) from the API server, and of all CustomResourceDefinitions. */
export async function writeSchemas(dir: string, apiVersions: readonly string[]): Promise<void> {
  for (const apiVersion of apiVersions) {
    const path = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`
    const text = await runOrThrow('kubectl', ['get', '--raw', `/openapi/v3/${path}`])
    writeKinds(dir, JSON.parse(text) as OpenApi)
  }
  const own = join(rootDir, 'charts/matte/files/crds/tritonpools.matte.dev.yaml')
  writeDefinition(dir, own)
  for (const [module, files] of modules) await writeDefinitions(dir, module, files)
}

/** Writes the schemas of CustomResourceDefinitions in a Go module. */
export async function writeDefinitions(dir: string, module: string, files: readonly string[]): Promise<void> {
  const { Dir } = JSON.parse(await runOrThrow('go', ['mod', 'download', '-json', module])) as { readonly Dir: string }
  for (const file of files) writeDefinition(dir, join(Dir, file))
}

function writeKinds(dir: string, { components }: OpenApi): void {
  const strict = { schemas: beStrict(components.schemas) }
  for (const [name, schema] of Object.entries(components.schemas)) {
    const kinds = (schema['x-kubernetes-group-version-kind'] ?? []) as readonly Gvk[]
    for (const gvk of kinds) {
      const root = { $ref: `#/components/schemas/${name}`, components: strict }
      writeFileSync(join(dir, fileOf(gvk)), JSON.stringify(root))
    }
  }
}

function writeDefinition(dir: string, file: string): void {
  const { spec } = parse(readFileSync(file, 'utf8')) as Definition
  for (const { name: version, schema } of spec.versions) {
    const { openAPIV3Schema: root } = schema
    const properties = { ...(root.properties as Schema), metadata: { type: 'object' } }
    const strict = beStrict({ ...root, properties })
    writeFileSync(join(dir, fileOf({ group: spec.group, kind: spec.names.kind, version })), JSON.stringify(strict))
  }
}

/** Forbids fields that are not listed. */
function beStrict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(beStrict)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, beStrict(member)]))
  const isOpen = copy['x-kubernetes-preserve-unknown-fields'] === true || copy.additionalProperties !== undefined
  const hasFields = typeof copy.properties === 'object' && (copy.type === 'object' || copy.type === undefined)
  return hasFields && !isOpen && !isFieldMap(value) ? { ...copy, additionalProperties: false } : copy
}

/** A field that is itself named `properties`, as in the schema of a schema. */
const isFieldMap = (value: object): boolean =>
  'properties' in value && 'type' in value && typeof (value as Schema).type === 'object'
