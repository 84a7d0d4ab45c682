// Requests are judged leniently where a typo can do no harm (D2): what is unknown is ignored and named in
// `X-Ignored-Fields`, null or an empty query value means absent; `Prefer: handling=strict` refuses instead. What is
// known is judged strictly: a JSON body is never coerced, a query value only from the text of a whole number.
import type { MatteError } from '@matte/core/error'
import { invalidParams } from '@matte/core/invalid-params'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { escapePointer, issuesMax } from '../errors/issues.ts'
import { fillDefaults } from './fill-defaults.ts'
import { notePreference, readPreferences } from './prefer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The body without unknown and absent fields, before its defaults are filled in. */
    sentBody: unknown
  }
  interface FastifyContextConfig {
    /**
     * Throws the route's not-found unless the id in its path is the caller's. For routes that read it in their handler
     * and validate nothing before: an unknown id is reported before a field that strict handling refuses (D4).
     */
    exists?: (request: FastifyRequest) => Promise<void>
  }
}

type Fields = Record<string, unknown>
type ObjectSchema = { readonly properties?: Record<string, { type?: unknown }>; readonly required?: readonly string[] }

/** Names in the header; more are counted. A name is cut at 64 characters: header space is bounded. */
const namesMax = 20
const nameLengthMax = 64

/** Items of a list that are looked at for what is wrong, and members of an object. */
const itemsMax = 1_000

Settings.Set({ maxErrors: issuesMax })

/** Compiled at its first request: what a route checks takes memory that an idle process need not hold. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compile = (): Validator => Compile(httpPart === 'headers' ? lowerNames(schema) : schema)
  let validator: Validator | undefined
  return (value: unknown) => {
    validator ??= compile()
    if (!validator.Check(value)) return { error: findErrors(validator, value) }
    return { value: httpPart === 'body' || httpPart === 'querystring' ? fillDefaults(schema, value) : value }
  }
}

/**
 * What is wrong with a value that the validator refuses. It walks a list to the end also when it has errors enough, at
 * 0.4 s for half a million of them, so it gets the first items alone.
 */
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

/** Header schemas name headers as they are documented; a request has their names in lower case. */
function lowerNames(schema: TSchema): TSchema {
  const { properties = {} } = schema as ObjectSchema
  const lower = Object.entries(properties).map(([name, property]) => [name.toLowerCase(), property])
  return { ...schema, properties: Object.fromEntries(lower) }
}

/** Before validation: drops absent and unknown fields of body and query, and names the unknown ones. */
export function ignoreUnknownFields(app: FastifyInstance): void {
  app.decorateRequest('sentBody', undefined)
  app.addHook('preValidation', (request, reply, done) => {
    const { schema, config } = request.routeOptions
    if (schema === undefined || config.envelope === false) return done()
    const unknown = [...cleanQuery(request, schema.querystring), ...cleanBody(request, schema.body)]
    request.sentBody = request.body
    const strict = readPreferences(request.headers.prefer).get('handling')?.toLowerCase() === 'strict'
    if (strict) notePreference(reply, 'handling=strict')
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

/** Fields that a request has and its schema has not. */
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
    // Up to 15 digits are exact as a number; more stay text and are refused as such.
    else if (property.type === 'integer' && /^[+-]?\d{1,15}$/.test(String(value))) query[name] = Number(value)
  }
  return unknown
}

function cleanBody(request: FastifyRequest, schema: unknown): Unknown[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schema as ObjectSchema
  // Where nothing is required, nothing has to be sent; a body that is null is no object.
  if (required.length === 0 && request.body === undefined) request.body = {}
  const { body } = request
  if (!isFields(body)) return []
  // Copied, not deleted from: a body may have 90,000 unknown fields, and each deletion is slow.
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
