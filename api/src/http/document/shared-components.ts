// Moves parts that several operations share into the components, and names request bodies, envelopes and pages, so
// generated clients have one type for each. Names depend on the part alone, so adding an operation changes none.
import type { ResponseKind } from '../../schemas/response-headers.ts'
import { codesOf } from '../../schemas/schema.ts'
import {
  type ApiDocument,
  isReference,
  type Operation,
  type Parameter,
  type Reference,
  type Response,
} from './api-document.ts'
import { type JsonSchema, schemaPrefix } from './example.ts'
import { shareSchemas } from './shared-schemas.ts'

export function writeOnce({ paths, components }: ApiDocument, kinds: ReadonlyMap<Response, ResponseKind>): void {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  nameSchemas(components.schemas, operations)
  shareSchemas(components.schemas, operations)
  const parameters = createComponentStore<Parameter>('parameters', components)
  const responses = createComponentStore<Response>('responses', components)
  for (const { parameters: own = [], responses: answers } of operations) {
    for (const parameter of own) if (!isReference(parameter)) parameters.count(parameter)
    for (const answer of Object.values(answers))
      if (!isReference(answer)) responses.count(withoutDescription(answer, kinds))
  }
  for (const operation of operations) {
    for (const [index, parameter] of (operation.parameters ?? []).entries()) {
      if (!isReference(parameter)) operation.parameters?.splice(index, 1, parameters.take(parameter, parameter.name))
    }
    for (const [status, answer] of Object.entries(operation.responses)) {
      if (isReference(answer)) continue
      const name = responseName(operation.operationId, answer, kinds.get(answer))
      const shared = responses.take(withoutDescription(answer, kinds), name)
      const { description } = answer
      const says = isReference(shared) && Number(status) >= 400 ? {} : { description }
      operation.responses[status] = { ...shared, ...says }
    }
  }
}

const withoutDescription = (answer: Response, kinds: ReadonlyMap<Response, ResponseKind>): Response =>
  (kinds.get(answer)?.status ?? 0) >= 400 ? answer : { ...answer, description: 'Success.' }

const namedCodesMax = 3

/** Successes are named after their schema, errors after their codes and conditions that change their headers. */
function responseName(operationId: string, response: Response, kind: ResponseKind | undefined): string {
  if (kind === undefined || kind.status < 400) {
    return response.content?.['application/json']?.schema.$ref?.slice(schemaPrefix.length) ?? operationId
  }
  const { status, credential, idempotent } = kind
  const codes = codesOf(response)
  if (codes.length > namedCodesMax) return `${operationId}.${status}`
  return [
    ...codes,
    ...(credential === 'none' && status !== 401 ? ['open'] : []),
    ...(credential === 'token' && status === 404 ? ['member'] : []),
    ...(idempotent && status === 409 ? ['idempotent'] : []),
  ].join('.')
}

/** Counts all parts first, then moves parts that occur more than once. */
function createComponentStore<Part extends Parameter | Response>(kind: string, components: ApiDocument['components']) {
  const counts = new Map<string, number>()
  const names = new Map<string, string>()
  const put = (text: string, wanted: string, part: Part): string => {
    const shelf = components[kind] ?? {}
    let name = wanted
    for (let next = 2; Object.hasOwn(shelf, name); next++) name = `${wanted}.${next}`
    names.set(text, name)
    components[kind] = { ...shelf, [name]: part }
    return name
  }
  return {
    count(part: Part): void {
      const text = JSON.stringify(part)
      counts.set(text, (counts.get(text) ?? 0) + 1)
    },
    take(part: Part, wanted: string): Part | Reference {
      const text = JSON.stringify(part)
      if ((counts.get(text) ?? 0) < 2) return part
      return { $ref: `#/components/${kind}/${names.get(text) ?? put(text, wanted, part)}` }
    },
  }
}

type Schemas = Record<string, JsonSchema>

export function nameSchemas(schemas: Schemas, operations: readonly Operation[]): void {
  const bodyNames = new Map<string, string>()
  for (const operation of operations) {
    nameBody(schemas, bodyNames, operation)
    nameEnvelopes(schemas, operation)
  }
}

/** Names a body after the first operation that reads it. `names` maps earlier bodies to their names. */
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

/** Names an envelope after the schema inside; an envelope of an unnamed schema stays inline. */
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
