// Validation (D2): unknown fields of bodies are refused, and unknown query parameters ignored and listed in
// `X-Ignored-Fields` (unknown-fields.ts). Null and empty query values count as absent. Bodies are never coerced, query
// values only from whole numbers and short decimals.
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { escapePointer, issuesMax } from '../errors/issues.ts'

type Fields = Record<string, unknown>
type ObjectSchema = { readonly properties?: Readonly<Record<string, unknown>> }

const itemsMax = 1_000

Settings.Set({ maxErrors: issuesMax })

/** Compiled at the first request, to save memory in an idle process. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compile = (): Validator => Compile(httpPart === 'headers' ? lowerNames(schema) : schema)
  let validator: Validator | undefined
  return (value: unknown) => {
    validator ??= compile()
    if (!validator.Check(value)) return { error: findErrors(validator, value) }
    return { value: httpPart === 'body' || httpPart === 'querystring' ? fillDefaults(schema, value) : value }
  }
}

/** Checks only the first items: the validator walks a whole list, 0.4 s for half a million. */
function findErrors(validator: Validator, value: unknown): FastifySchemaValidationError[] {
  const fields = isFields(value) ? Object.entries(value) : []
  const short = fields.map(([name, field]) => [name, shorten(field)] as const)
  const errors = [...validator.Errors(isFields(value) ? Object.fromEntries(short) : value)]
  if (errors.length > 0) return errors
  const cut = fields.filter(([, field], index) => field !== short[index]?.[1])
  return cut.map(([name]) => ({
    keyword: 'items',
    instancePath: `/${escapePointer(name)}`,
    schemaPath: '#',
    params: {},
    message: `is invalid after its first ${itemsMax} items`,
  }))
}

function shorten(field: unknown): unknown {
  if (Array.isArray(field)) return field.length > itemsMax ? field.slice(0, itemsMax) : field
  if (!isFields(field)) return field
  const names = Object.keys(field)
  return names.length > itemsMax
    ? Object.fromEntries(names.slice(0, itemsMax).map((name) => [name, field[name]]))
    : field
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function lowerNames(schema: TSchema): TSchema {
  const { properties = {} } = schema as ObjectSchema
  const lower = Object.entries(properties).map(([name, property]) => [name.toLowerCase(), property])
  return { ...schema, properties: Object.fromEntries(lower) }
}

type Schema = { readonly default?: unknown; readonly properties?: Readonly<Record<string, Schema>> }

/** Returns a copy with the defaults of the schema; null counts as absent. Handlers define no defaults. */
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
