// Lenient validation (D2): unknown fields are ignored and listed in `X-Ignored-Fields`, null and empty query values
// count as absent; `Prefer: handling=strict` refuses unknown fields. Known fields are strict: bodies are never coerced,
// query values only from whole numbers and short decimals.
import type { MatteError } from '@matte/core/error'
import { invalidParams } from '@matte/core/invalid-params'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { escapePointer, issuesMax } from '../errors/issues.ts'
import { applyPreference, readPreferences } from './prefer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The body without unknown and absent fields, before defaults are filled in. */
    sentBody: unknown
  }
  interface FastifyContextConfig {
    /**
     * Throws not-found unless the caller owns the id of the path, so strict handling reports an unknown id first (D4).
     */
    exists?: (request: FastifyRequest) => Promise<void>
  }
}

type Fields = Record<string, unknown>
type ObjectSchema = { readonly properties?: Record<string, { type?: unknown }>; readonly required?: readonly string[] }

const namesMax = 20
const nameLengthMax = 64

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

export function ignoreUnknownFields(app: FastifyInstance): void {
  app.decorateRequest('sentBody', undefined)
  app.addHook('preValidation', (request, reply, done) => {
    const { schema, config } = request.routeOptions
    if (schema === undefined || config.envelope === false) return done()
    const unknown = [...cleanQuery(request, schema.querystring), ...cleanBody(request, schema.body)]
    request.sentBody = request.body
    const strict = readPreferences(request.headers.prefer).get('handling')?.toLowerCase() === 'strict'
    if (strict) applyPreference(reply, 'handling=strict')
    if (unknown.length > 0) {
      if (strict) {
        const refuse = (): void => done(unknownFields(unknown))
        if (config.exists) config.exists(request).then(refuse, done)
        else refuse()
        return
      }
      reply.header('x-ignored-fields', headerList(unknown))
    }
    done()
  })
}

type Unknown = { readonly part: '/query' | '/body'; readonly name: string }

function cleanQuery(request: FastifyRequest, schema: unknown): Unknown[] {
  const { properties = {} } = (schema ?? {}) as ObjectSchema
  const query = request.query as Fields
  const unknown: Unknown[] = []
  for (const [name, value] of Object.entries(query)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) {
      unknown.push({ part: '/query', name })
      delete query[name]
    } else if (value === '') delete query[name]
    // Numbers of up to 15 digits are exact; longer ones stay text and are refused.
    else if (property.type === 'integer' && /^[+-]?\d{1,15}$/.test(String(value))) query[name] = Number(value)
    else if (property.type === 'number' && /^\d(\.\d{1,14})?$/.test(String(value))) query[name] = Number(value)
  }
  return unknown
}

function cleanBody(request: FastifyRequest, schema: unknown): Unknown[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schema as ObjectSchema
  if (required.length === 0 && request.body === undefined) request.body = {}
  const { body } = request
  if (!isFields(body)) return []
  // Copies instead of deleting: a body may have 90,000 unknown fields, and each deletion is slow.
  const known: Fields = {}
  const unknown: Unknown[] = []
  for (const name of Object.keys(body)) {
    if (!Object.hasOwn(properties, name)) unknown.push({ part: '/body', name })
    else if (body[name] !== null || required.includes(name)) known[name] = body[name]
  }
  request.body = known
  return unknown
}

function unknownFields(unknown: readonly Unknown[]): MatteError {
  const issues = unknown
    .slice(0, issuesMax)
    .map(({ part, name }) => ({ path: `${part}/${escapePointer(name)}`, message: 'is not known here' }))
  return invalidParams(issues, { message: 'The request has unknown fields and prefers strict handling.' })
}

function headerList(unknown: readonly Unknown[]): string {
  const shown = unknown
    .slice(0, namesMax)
    .map(({ name }) => encodeURIComponent(name.slice(0, nameLengthMax).toWellFormed()))
  return unknown.length > namesMax ? `${shown.join(', ')}, +${unknown.length - namesMax}` : shown.join(', ')
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
