// Requests are judged leniently where a typo can do no harm (D2): what is unknown is ignored and named in
// `X-Ignored-Fields`, null or an empty query value means absent; `Prefer: handling=strict` refuses instead. What is
// known is judged strictly: a JSON body is never coerced, a query value only from the text of a whole number.
import type { MatteError } from '@matte/core/error'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { patternWords } from '../schemas/patterns.ts'
import { notePreference, readPreferences } from './prefer.ts'

declare module 'fastify' {
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

export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validator = Compile(httpPart === 'headers' ? lowerNames(schema) : schema)
  return (value: unknown) => (validator.Check(value) ? { value } : { error: [...validator.Errors(value)] })
}

/** Header schemas name headers as they are documented; a request has their names in lower case. */
function lowerNames(schema: TSchema): TSchema {
  const { properties = {} } = schema as ObjectSchema
  const lower = Object.entries(properties).map(([name, property]) => [name.toLowerCase(), property])
  return { ...schema, properties: Object.fromEntries(lower) }
}

/** Before validation: drops absent and unknown fields of body and query, and names the unknown ones. */
export function ignoreUnknownFields(app: FastifyInstance): void {
  app.addHook('preValidation', (request, reply, done) => {
    const { schema, config } = request.routeOptions
    if (schema === undefined || config.envelope === false) return done()
    const unknown = [...cleanQuery(request, schema.querystring), ...cleanBody(request, schema.body)]
    const strict = readPreferences(request.headers.prefer).get('handling')?.toLowerCase() === 'strict'
    if (strict) notePreference(reply, 'handling=strict')
    if (unknown.length > 0) {
      if (strict) {
        const refuse = (): void => done(unknownFields(unknown))
        if (config.exists) config.exists(request).then(refuse, done)
        else refuse()
        return
      }
      reply.header('x-ignored-fields', headerList(unknown.map(({ name }) => name)))
    }
    done()
  })
}

type Unknown = { readonly name: string; readonly path: string }

function cleanQuery(request: FastifyRequest, schema: unknown): Unknown[] {
  const { properties = {} } = (schema ?? {}) as ObjectSchema
  const query = request.query as Fields
  const unknown: Unknown[] = []
  for (const [name, value] of Object.entries(query)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) {
      unknown.push({ name, path: `/query/${escapePointer(name)}` })
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
  // Where nothing is required, nothing has to be sent.
  if (required.length === 0) request.body ??= {}
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return []
  const fields = body as Fields
  const unknown: Unknown[] = []
  for (const [name, value] of Object.entries(fields)) {
    if (!Object.hasOwn(properties, name)) {
      unknown.push({ name, path: `/body/${escapePointer(name)}` })
      delete fields[name]
    } else if (value === null && !required.includes(name)) delete fields[name]
  }
  return unknown
}

function unknownFields(unknown: readonly Unknown[]): MatteError {
  const issues = unknown.slice(0, namesMax).map(({ path }) => ({ path, message: 'is not known here' }))
  return invalidParams(issues, { message: 'The request has unknown fields and prefers strict handling.' })
}

function headerList(names: readonly string[]): string {
  const shown = names.slice(0, namesMax).map((name) => encodeURIComponent(name.slice(0, nameLengthMax).toWellFormed()))
  return names.length > namesMax ? `${shown.join(', ')}, +${names.length - namesMax}` : shown.join(', ')
}

const parts: Readonly<Record<string, string>> = {
  body: '/body',
  querystring: '/query',
  params: '/path',
  headers: '/headers',
}

/** What the validator found, one issue for each value, with a JSON pointer into the request. */
export function toIssues(errors: readonly FastifySchemaValidationError[], context: string | undefined): Issue[] {
  const part = parts[context ?? ''] ?? ''
  const found = errors.flatMap((error) => issuesOf(error, `${part}${error.instancePath}`))
  // A value of the wrong type breaks other rules too; the last message, such as the list of values, says most.
  return [...new Map(found.map((issue) => [issue.path, issue])).values()]
}

function issuesOf({ keyword, params, message = 'is invalid' }: FastifySchemaValidationError, path: string): Issue[] {
  const each = (names: readonly unknown[], words: string): Issue[] =>
    names.map((name) => ({ path: `${path}/${escapePointer(String(name))}`, message: words }))
  const { requiredProperties, allowedValues, additionalProperties, pattern } = params
  if (keyword === 'required' && Array.isArray(requiredProperties)) return each(requiredProperties, 'is required')
  if (keyword === 'enum' && Array.isArray(allowedValues)) {
    return [{ path, message: `must be one of ${allowedValues.filter((value) => value !== null).join(', ')}` }]
  }
  if (keyword === 'additionalProperties' && Array.isArray(additionalProperties)) {
    return each(additionalProperties, 'is not known here')
  }
  if (keyword === 'pattern') return [{ path, message: patternWords[String(pattern)] ?? message }]
  return [{ path, message }]
}

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
