// Fills in the fields that a caller left out, from the defaults of the schema. Handlers have no defaults, so the
// document always states the value that applies.

type Schema = { readonly default?: unknown; readonly properties?: Readonly<Record<string, Schema>> }

/** A copy of a value that fits the schema, with its defaults; null counts as left out. */
export function fillDefaults(schema: Schema, value: unknown): unknown {
  const { properties } = schema
  if (properties === undefined || typeof value !== 'object' || value === null) return value
  const filled: Record<string, unknown> = { ...value }
  for (const [name, property] of Object.entries(properties)) {
    const given = filled[name] ?? undefined
    if (given !== undefined) filled[name] = fillDefaults(property, given)
    else if (property.default !== undefined) filled[name] = structuredClone(property.default)
  }
  return filled
}
