/** As much of a schema as an example needs; references lead to `#/components/schemas/`. */
export type JsonSchema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, object>>
  readonly items?: JsonSchema
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly required?: readonly string[]
  readonly allOf?: readonly JsonSchema[]
}

const referencePrefix = '#/components/schemas/'

/**
 * A value of the schema: its own example where it has one, else one made of its parts. Numbers are 1, what may be null
 * is null, a list has one item.
 */
export function buildExample(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  const { $ref, type, properties = {}, items = {}, examples, enum: values } = schema
  if ($ref !== undefined) return buildExample(schemas[$ref.slice(referencePrefix.length)] ?? {}, schemas)
  if (examples?.[0] !== undefined) return examples[0]
  if (values !== undefined) return values[0]
  if (Array.isArray(type) && type.includes('null')) return null
  if (type === 'array') return [buildExample(items, schemas)]
  if (type === 'integer' || type === 'number') return 1
  if (type === 'boolean') return true
  if (type !== 'object') return 'text'
  const entries = Object.entries(properties).map(([name, property]) => [name, buildExample(property, schemas)])
  return Object.fromEntries(entries)
}
