// The generated sections of docs/tritonpool.md: fields, reasons and the ten situations.

import { buildCrd, printerColumns, type Schema } from '@matte/controller/operator/pool/crd'
import { reasons } from '@matte/controller/operator/pool/reasons'
import { group, kind, version } from '@matte/controller/operator/pool/triton-pool'
import { replaceSection, toTable } from './markdown.ts'
import { type Situation, situations } from './pool-situations.ts'
import { toYaml } from './yaml.ts'

export function writePoolDocument(before: string): string {
  const sections: Readonly<Record<string, string>> = {
    spec: fieldTable('spec'),
    status: fieldTable('status'),
    reasons: reasonTable(),
    columns: columnTable(),
    ...Object.fromEntries(situations.map((situation) => [situation.id, situationBlock(situation)])),
  }
  return Object.entries(sections).reduce((text, [name, content]) => replaceSection(text, name, content), before)
}

function fieldTable(part: 'spec' | 'status'): string {
  const schema = buildCrd().spec.versions[0]?.schema.openAPIV3Schema.properties?.[part]
  if (schema === undefined) throw new Error(`the definition has no ${part}`)
  return toTable(['field', 'form', 'default', 'meaning'], listFields(schema, ''))
}

function listFields({ properties = {}, required = [] }: Schema, path: string): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const own = `${path}${name}${field.type === 'array' ? '[]' : ''}`
    const row = [`\`${own}\``, formOf(field), defaultOf(field, required.includes(name)), field.description ?? '']
    return [row, ...listFields(field, `${own}.`), ...(field.items ? listFields(field.items, `${own}.`) : [])]
  })
}

function formOf(field: Schema): string {
  const { type, minimum, maximum, minItems, maxItems, enum: choices } = field
  if (Array.isArray(choices)) return choices.map((choice) => `\`${choice}\``).join(', ')
  if (type === 'array') return minItems === undefined ? `list, at most ${maxItems}` : `list, ${minItems} to ${maxItems}`
  if (type === 'object') return field.additionalProperties ? 'map' : 'object'
  if (type === 'integer' || type === 'number') return `${type} ${minimum} to ${maximum}`
  return field.format === 'date-time' ? 'time' : (type ?? '')
}

/** Parents whose fields have defaults of their own need none in the table. */
function defaultOf({ default: fallback, properties }: Schema, required: boolean): string {
  if (required) return 'required'
  if (fallback === undefined || properties !== undefined) return ''
  return `\`${JSON.stringify(fallback)}\``
}

const reasonTable = (): string =>
  toTable(
    ['reason', 'means', 'what to do'],
    Object.entries(reasons).map(([reason, { means, act }]) => [`\`${reason}\``, means, act]),
  )

const columnTable = (): string =>
  toTable(
    ['column', 'path', 'meaning'],
    printerColumns.map(({ name, jsonPath, description, priority }) => [
      priority === undefined ? name : `${name} (\`-o wide\`)`,
      `\`${jsonPath}\``,
      description,
    ]),
  )

function situationBlock({ pool, now }: Situation): string {
  const resource = { apiVersion: `${group}/${version}`, kind, ...pool }
  return ['```', tableOf(resource, now), '```', '', '```yaml', toYaml(resource).trimEnd(), '```'].join('\n')
}

/** What `kubectl get tritonpools` prints. */
function tableOf(resource: Situation['pool'], now: Date): string {
  const shown = printerColumns.filter(({ priority }) => priority === undefined)
  const cells = shown.map(({ name, type, jsonPath }) => {
    const value = readPath(resource, jsonPath)
    const text = type === 'date' ? ageOf(new Date(String(value)), now) : String(value ?? '')
    return { head: name.toUpperCase(), text }
  })
  const all = [{ head: 'NAME', text: resource.metadata.name }, ...cells]
  const widths = all.map(({ head, text }) => Math.max(head.length, text.length))
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('   ')
      .trimEnd()
  return [line(all.map(({ head }) => head)), line(all.map(({ text }) => text))].join('\n')
}

/** The value at a path of the kind that columns have: fields, and one item of a list by the value of a field. */
export function readPath(value: unknown, jsonPath: string): unknown {
  const steps = jsonPath.matchAll(/\.([A-Za-z0-9]+)|\[\?\(@\.(\w+)=="([^"]*)"\)\]/g)
  return [...steps].reduce((at: unknown, [, field, key, wanted]) => {
    if (field !== undefined) return (at as Record<string, unknown> | undefined)?.[field]
    return (at as Record<string, unknown>[] | undefined)?.find((item) => item[key ?? ''] === wanted)
  }, value)
}

/** As kubectl writes it: seconds up to two minutes, then minutes and seconds up to ten. */
function ageOf(since: Date, now: Date): string {
  const seconds = Math.floor((now.getTime() - since.getTime()) / 1000)
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 10 && seconds % 60 > 0 ? `${minutes}m${seconds % 60}s` : `${minutes}m`
}
