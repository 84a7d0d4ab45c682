// Requests are judged leniently where a typo can do no harm (D2): what is unknown is ignored and named in
// `X-Ignored-Fields`, null or an empty query value means absent; `Prefer: handling=strict` refuses instead. What is
// known is judged strictly: a JSON body is never coerced, a query value only from the text of a whole number.
import { type Details, MatteError } from '@matte/core/error'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

type Fields = Record<string, unknown>
type ObjectSchema = { readonly properties?: Record<string, { type?: unknown }>; readonly required?: readonly string[] }

/** Names told in the header; more are counted. A name is cut at 64 characters: header space is bounded. */
const namesMax = 20
const nameLengthMax = 64

export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const validator = Compile(schema)
  return (value: unknown) => (validator.Check(value) ? { value } : { error: [...validator.Errors(value)] })
}

/** Before validation: drops absent and unknown fields of body and query, and names the unknown ones. */
export function ignoreUnknownFields(app: FastifyInstance): void {
  app.addHook('preValidation', async (request, reply) => {
    const { schema } = request.routeOptions
    if (schema === undefined || request.routeOptions.config.envelope === false) return
    const unknown = [...cleanQuery(request, schema.querystring), ...cleanBody(request, schema.body)]
    const strict = isStrict(request.headers.prefer)
    if (strict) reply.header('preference-applied', 'handling=strict')
    if (unknown.length === 0) return
    if (strict) throw unknownFields(unknown)
    reply.header('x-ignored-fields', headerList(unknown.map(({ name }) => name)))
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

function cleanBody({ body }: FastifyRequest, schema: unknown): Unknown[] {
  if (schema === undefined || typeof body !== 'object' || body === null || Array.isArray(body)) return []
  const { properties = {}, required = [] } = schema as ObjectSchema
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
  return new MatteError('INVALID_PARAMS', 'The request has unknown fields and prefers strict handling.', {
    details: { issues },
  })
}

/** RFC 7240: preferences joined by commas, a value perhaps quoted. */
const isStrict = (prefer: string | string[] | undefined): boolean =>
  prefer !== undefined && /(^|,)\s*handling\s*=\s*"?strict"?\s*(;|,|$)/i.test(String(prefer))

function headerList(names: readonly string[]): string {
  const told = names.slice(0, namesMax).map((name) => encodeURIComponent(name.slice(0, nameLengthMax).toWellFormed()))
  return names.length > namesMax ? `${told.join(', ')}, +${names.length - namesMax}` : told.join(', ')
}

const parts: Readonly<Record<string, string>> = { body: '/body', querystring: '/query', params: '/path' }

/** What the validator found, each with a JSON pointer into the request. */
export function toIssues(errors: readonly FastifySchemaValidationError[], context: string | undefined): Details[] {
  const part = parts[context ?? ''] ?? ''
  return errors.flatMap(({ keyword, instancePath, params, message = 'is invalid' }): Details[] => {
    const path = `${part}${instancePath}`
    const missing = keyword === 'required' ? params.requiredProperties : undefined
    if (Array.isArray(missing)) {
      return missing.map((name) => ({ path: `${path}/${escapePointer(String(name))}`, message: 'is required' }))
    }
    if (keyword === 'enum' && Array.isArray(params.allowedValues)) {
      return [{ path, message: `must be one of ${params.allowedValues.join(', ')}` }]
    }
    return [{ path, message }]
  })
}

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
