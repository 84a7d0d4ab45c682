// A JSON Schema as rows of a table: nested fields have dotted names.
import type { Schema } from './operations.ts'

export type SchemaRow = {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

type Schemas = Readonly<Record<string, Schema>>

/** Bound against schemas that contain themselves. */
const depthMax = 5

export function resolveSchema(schema: Schema, schemas: Schemas): Schema {
  const { $ref, allOf, ...own } = schema
  const base = $ref === undefined ? {} : resolveSchema(schemas[$ref.replace(/^.*\//, '')] ?? {}, schemas)
  return [base, ...(allOf ?? []).map((part) => resolveSchema(part, schemas)), own].reduce(merge)
}

const merge = (a: Schema, b: Schema): Schema => ({
  ...a,
  ...b,
  ...((a.properties || b.properties) && { properties: { ...a.properties, ...b.properties } }),
  ...((a.required || b.required) && { required: [...new Set([...(a.required ?? []), ...(b.required ?? [])])] }),
})

export function rowsOf(schema: Schema, schemas: Schemas, prefix = '', depth = 0): SchemaRow[] {
  const { properties = {}, required = [], items } = resolveSchema(schema, schemas)
  if (depth >= depthMax) return []
  if (items !== undefined && prefix === '') return rowsOf(items, schemas, '[]', depth + 1)
  return Object.entries(properties).flatMap(([key, value]) => {
    const field = resolveSchema(value, schemas)
    const name = prefix === '' ? key : `${prefix}.${key}`
    const row = {
      name,
      type: typeOf(field, schemas),
      required: required.includes(key),
      description: [field.description, ...limitsOf(field)].filter(Boolean).join(' '),
    }
    const { items: element, ...own } = field
    const nested = element ? rowsOf(element, schemas, `${name}[]`, depth + 1) : []
    return [row, ...rowsOf(own, schemas, name, depth + 1), ...nested]
  })
}

export function typeOf(schema: Schema, schemas: Schemas): string {
  const { type, format, items, enum: values, const: only, additionalProperties } = schema
  if (only !== undefined) return JSON.stringify(only)
  const types = [type ?? []].flat().filter((name) => name !== 'null')
  const nullable = [type ?? []].flat().includes('null') || (values?.includes(null) ?? false)
  return `${nameOf()}${nullable ? ' or null' : ''}`

  function nameOf(): string {
    if (values !== undefined) return values.filter((value) => value !== null).join(' · ')
    if (items !== undefined) return `array of ${typeOf(resolveSchema(items, schemas), schemas)}`
    if (typeof additionalProperties === 'object' && schema.properties === undefined) {
      return `map of ${typeOf(resolveSchema(additionalProperties, schemas), schemas)}`
    }
    return `${types.join(' or ') || 'any'}${format === undefined ? '' : ` (${format})`}`
  }
}

function limitsOf({ minimum, maximum, minLength, maxLength, maxItems, default: standard }: Schema): string[] {
  const between = (from: number | undefined, to: number | undefined, unit: string) => {
    if (from !== undefined && to !== undefined) return [`${from} to ${to}${unit}.`]
    if (to !== undefined) return [`At most ${to}${unit}.`]
    return from !== undefined && from > 1 ? [`At least ${from}${unit}.`] : []
  }
  return [
    ...between(minimum, maximum, ''),
    ...between(minLength, maxLength, ' characters'),
    ...between(undefined, maxItems, ' entries'),
    ...(standard === undefined ? [] : [`Default: \`${JSON.stringify(standard)}\`.`]),
  ]
}
