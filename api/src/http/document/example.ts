export type JsonSchema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  additionalProperties?: unknown
  readonly items?: JsonSchema
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly required?: readonly string[]
  readonly allOf?: readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
}

export const schemaPrefix = '#/components/schemas/'

/**
 * An example of the schema: its own, or built from its parts. Numbers are 1, nullable values null, lists have one item.
 * Optional members without an example are omitted.
 */
export function buildExample(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  const { $ref, type, items = {}, examples, enum: values, anyOf, allOf } = schema
  if ($ref !== undefined) return buildExample(schemas[$ref.slice(schemaPrefix.length)] ?? {}, schemas)
  if (examples?.[0] !== undefined) return examples[0]
  if (schema.default !== undefined) return schema.default
  if (values !== undefined) return values[0]
  if (anyOf?.[0] !== undefined) return buildExample(anyOf[0], schemas)
  if (allOf !== undefined) return Object.assign({}, ...allOf.map((part) => buildExample(part, schemas)))
  if (Array.isArray(type) && type.includes('null')) return null
  if (type === 'array') return [buildExample(items, schemas)]
  if (type === 'integer' || type === 'number') return 1
  if (type === 'boolean') return true
  if (type !== 'object') return 'text'
  return Object.fromEntries(
    shownMembers(schema).map(([name, property]) => [name, buildExample(property, schemas)] as const),
  )
}

const shownMembers = ({ properties = {}, required = [] }: JsonSchema): [string, JsonSchema][] =>
  Object.entries(properties).filter(([name, { examples }]) => required.includes(name) || examples !== undefined)
