// The generated sections of docs/tritonpool-reference.md: fields, reasons and columns.

import { buildCrd, printerColumns, type Schema } from '@matte/controller/operator/pool/crd'
import { reasons } from '@matte/controller/operator/pool/reasons'
import { replaceSection, toTable } from './markdown.ts'

export function writePoolReference(before: string): string {
  const sections: Readonly<Record<string, string>> = {
    spec: fieldTable('spec'),
    status: fieldTable('status'),
    reasons: reasonTable(),
    columns: columnTable(),
  }
  return Object.entries(sections).reduce((text, [name, content]) => replaceSection(text, name, content), before)
}

function fieldTable(part: 'spec' | 'status'): string {
  // The parts of a podPatch are those of a pod; docs/operator.md lists the rejected ones.
  const schema = buildCrd('any').spec.versions[0]?.schema.openAPIV3Schema.properties?.[part]
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

/** Omits defaults of parents, because the table lists those of their fields. */
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
