// Schemas that several others contain are written once, under a name. Routes keep them whole, because the validator and
// the serializer read them there.
import { errorCodes } from '@matte/core/error'
import { failureReasons } from '@matte/core/task/failure'
import { taskStatuses } from '@matte/core/task/task'
import { deliveryStatuses } from '@matte/core/webhook/delivery/list-deliveries'
import { testEvent } from '@matte/core/webhook/event-catalog'
import { eventTypes } from '@matte/core/webhook/event-types'
import { webhookEvents } from '@matte/core/webhook/events'
import { roles } from '@matte/core/workspace/role'
import { scopes } from '@matte/core/workspace/scope'
import { Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { sessionField } from '../../schemas/app/two-factor.ts'
import { outputSchema } from '../../schemas/output.ts'
import { oneOf } from '../../schemas/schema.ts'
import { isReference, type Operation, type Parameter } from './api-document.ts'
import { type JsonSchema, schemaPrefix } from './example.ts'

type Schemas = Record<string, JsonSchema>

// TypeBox's types hide the members of a schema.
const parts = {
  ErrorCode: oneOf(errorCodes),
  EventName: oneOf(webhookEvents, { description: 'The events of webhooks.' }),
  DeliveredEventName: oneOf([...webhookEvents, testEvent], { description: 'The events of webhooks, and the test.' }),
  TaskStatus: oneOf(taskStatuses),
  FailureReason: oneOf(failureReasons),
  DeliveryStatus: oneOf(deliveryStatuses),
  Scope: oneOf(scopes),
  Role: oneOf(roles),
  EventPattern: oneOf(eventTypes, { description: 'An event, or all events of one kind, such as `task.*`.' }),
  EmailAddress: Type.String({ minLength: 3, maxLength: 254, pattern: patterns.email }),
  SessionStorage: sessionField,
  Output: outputSchema,
} as unknown as Schemas

/** Below this number, fields in common are a coincidence. */
const fieldsMin = 6

/** Replaces parts by references in named schemas, parameters and responses; then derives schemas from others. */
export function shareSchemas(schemas: Schemas, operations: readonly Operation[]): void {
  const names = new Map(Object.entries(parts).map(([name, part]) => [textOf(part), name]))
  const used = new Set<string>()
  const share = (schema: JsonSchema): JsonSchema => replaceParts(schema, names, used)
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = share(schema)
  for (const { parameters = [], responses } of operations) {
    for (const [index, parameter] of parameters.entries()) {
      if (!isReference(parameter)) parameters[index] = { ...parameter, schema: share(parameter.schema) } as Parameter
    }
    for (const answer of Object.values(responses)) {
      const media = isReference(answer) ? [] : Object.values(answer.content ?? {})
      for (const each of media) each.schema = share(each.schema)
    }
  }
  for (const name of used) schemas[name] = partOf(name)
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = derive(name, schema, schemas)
}

function partOf(name: string): JsonSchema {
  const { examples: _shown, ...part } = parts[name] ?? {}
  return part
}

/** Without annotations, so a part matches whatever its field says of it. */
function textOf({ description: _said, default: _value, examples: _shown, ...rest }: JsonSchema): string {
  return JSON.stringify(rest)
}

/** Members of a schema that hold schemas; others, such as examples, can look like one. */
function replaceParts(schema: JsonSchema, names: ReadonlyMap<string, string>, used: Set<string>): JsonSchema {
  const name = names.get(textOf(schema))
  if (name !== undefined) {
    used.add(name)
    const { description, default: value } = schema
    return {
      $ref: `${schemaPrefix}${name}`,
      ...(description !== undefined && description !== parts[name]?.description && { description }),
      ...(value !== undefined && { default: value }),
    }
  }
  const go = (part: JsonSchema): JsonSchema => replaceParts(part, names, used)
  const { properties, items, allOf, anyOf } = schema
  return {
    ...schema,
    ...(properties && { properties: mapValues(properties, go) }),
    ...(items && { items: go(items) }),
    ...(allOf && { allOf: allOf.map(go) }),
    ...(anyOf && { anyOf: anyOf.map(go) }),
  }
}

/** `allOf` another schema and its own fields, if all fields of the other are among its fields. */
function derive(name: string, schema: JsonSchema, schemas: Schemas): JsonSchema {
  const [baseName, base] = findBase(name, schema, schemas) ?? []
  if (base === undefined) return schema
  const isOwn = (field: string): boolean => !Object.hasOwn(base.properties ?? {}, field)
  const properties = Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([field]) => isOwn(field)))
  const required = (schema.required ?? []).filter((field) => isOwn(field) || !base.required?.includes(field))
  const { description, examples } = schema
  const own: JsonSchema = { type: 'object', properties, ...(required.length > 0 && { required }) }
  return {
    ...(description !== undefined && { description }),
    allOf: [{ $ref: `${schemaPrefix}${baseName}` }, own],
    ...(examples && { examples }),
  }
}

function findBase(name: string, schema: JsonSchema, schemas: Schemas): [string, JsonSchema] | undefined {
  const fits = Object.entries(schemas).filter(([other, base]) => other !== name && isBase(base, schema))
  return fits.sort(([, a], [, b]) => fieldCount(b) - fieldCount(a))[0]
}

const fieldCount = ({ properties = {} }: JsonSchema): number => Object.keys(properties).length

const isBase = (base: JsonSchema, schema: JsonSchema): boolean =>
  isPlain(base) &&
  isPlain(schema) &&
  fieldCount(base) >= fieldsMin &&
  fieldCount(base) < fieldCount(schema) &&
  Object.entries(base.properties ?? {}).every(
    ([field, part]) => JSON.stringify(part) === JSON.stringify(schema.properties?.[field]),
  ) &&
  (base.required ?? []).every((field) => schema.required?.includes(field))

/** An object of any further fields. */
const isPlain = (schema: JsonSchema): boolean => schema.type === 'object' && !('additionalProperties' in schema)

const mapValues = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
