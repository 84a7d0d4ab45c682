// Requests are judged leniently where a typo can do no harm (D2): what is unknown is ignored and named in
// `X-Ignored-Fields`, null or an empty query value means absent; `Prefer: handling=strict` refuses instead. What is
// known is judged strictly: a JSON body is never coerced, a query value only from the text of a whole number.
import type { MatteError } from '@matte/core/error'
import { invalidParams } from '@matte/core/invalid-params'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { escapePointer } from '../errors/issues.ts'
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
