// Names the bodies of requests, the envelopes of answers and the pages of lists: a generated client has a type for
// each.
import { isReference, type Operation } from './api-document.ts'
import { type JsonSchema, schemaPrefix } from './example.ts'

type Schemas = Record<string, JsonSchema>

/** Removes the examples of named schemas too: each answer shows its own. */
export function nameSchemas(schemas: Schemas, operations: readonly Operation[]): void {
  for (const [name, { examples: _shown, ...schema }] of Object.entries(schemas)) schemas[name] = schema
  const bodyNames = new Map<string, string>()
  for (const operation of operations) {
    nameBody(schemas, bodyNames, operation)
    nameEnvelopes(schemas, operation)
  }
}

/** A body is named after the first operation that reads it. `names`: of the bodies before, by their text. */
function nameBody(schemas: Schemas, names: Map<string, string>, { operationId, requestBody }: Operation): void {
  const media = requestBody?.content['application/json']
  if (media === undefined) return
  const text = JSON.stringify(media.schema)
  const name = names.get(text) ?? `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Request`
  names.set(text, name)
  schemas[name] = media.schema
  media.schema = { $ref: `${schemaPrefix}${name}` }
}

function nameEnvelopes(schemas: Schemas, { responses }: Operation): void {
  for (const [status, response] of Object.entries(responses)) {
    const media = isReference(response) || Number(status) >= 400 ? undefined : response.content?.['application/json']
    if (media !== undefined) media.schema = nameEnvelope(schemas, media.schema)
  }
}

/** Named after the schema that it carries; one that carries a schema of its operation alone stays as it is. */
function nameEnvelope(schemas: Schemas, schema: JsonSchema): JsonSchema {
  const { description: _said, ...envelope } = schema
  const { data } = envelope.properties ?? {}
  const item = data?.properties?.nextCursor && data.properties.items?.items
  if (data?.$ref !== undefined) return addEnvelope(schemas, envelope, data.$ref)
  if (data === undefined || item?.$ref === undefined) return envelope
  const pageName = `${item.$ref.slice(schemaPrefix.length)}Page`
  const { items, ...fields } = data.properties ?? {}
  schemas.Page = { ...data, properties: fields, required: (data.required ?? []).filter((name) => name !== 'items') }
  const own: JsonSchema = { type: 'object', required: ['items'], properties: { ...(items && { items }) } }
  schemas[pageName] = { allOf: [{ $ref: `${schemaPrefix}Page` }, own] }
  return addEnvelope(schemas, envelope, `${schemaPrefix}${pageName}`)
}

function addEnvelope(schemas: Schemas, envelope: JsonSchema, $ref: string): JsonSchema {
  const name = `${$ref.slice(schemaPrefix.length)}Response`
  schemas[name] = { ...envelope, properties: { ...envelope.properties, data: { $ref } } }
  return { $ref: `${schemaPrefix}${name}` }
}
