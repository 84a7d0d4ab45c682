// Fields that no schema knows (D2). A misspelled field would change a result, or its price, without a word; so bodies
// are refused, with the known name that is nearest. Query parameters do no harm and are named in `X-Ignored-Fields`.
import type { MatteError } from '@matte/core/error'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import { closest, distance } from 'fastest-levenshtein'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { escapePointer, issuesMax, toIssues } from '../errors/issues.ts'
import type { Exchange } from '../limit/request-body.ts'
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
type ObjectSchema = {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, ObjectSchema>>
  readonly required?: readonly string[]
}

type Unknown = {
  readonly part: '/query' | '/body'
  /** Path of the field: the outermost name comes first. */
  readonly names: readonly string[]
  readonly known: readonly string[]
}

/** Names in the header, and characters of each. */
const namesMax = 20
const nameLengthMax = 64

/** Removes unknown fields from the request, or refuses it: a hook before the validation. */
export function handleUnknownFields(app: FastifyInstance): void {
  app.decorateRequest('sentBody', undefined)
  app.addHook('preValidation', async (request, reply) => {
    const { schema, config } = request.routeOptions
    if (schema === undefined || config.envelope === false || config.ownInput !== undefined) return
    const unknown = [...cleanQuery(request, schema.querystring), ...cleanBody(request, schema.body)]
    request.sentBody = request.body
    const handling = readHandling(request, reply)
    // Programs of deprecated paths were written when nothing was refused.
    const refusesBodies = handling !== 'lenient' && schema.deprecated !== true
    const isRefused = ({ part }: Unknown): boolean => handling === 'strict' || (part === '/body' && refusesBodies)
    const refused = ignoreOthers(reply, unknown, isRefused)
    if (refused.length === 0) return
    await config.exists?.(request)
    throw refusalOf(refused, issuesOfBody(request))
  })
}

type Given = {
  readonly fields: Fields
  readonly schema: object
  /** Part of the request that has the field. */
  readonly partOf: (name: string) => Unknown['part']
  /** Issues of the known fields, for the same response. */
  readonly issuesOf: (known: Fields) => readonly Issue[]
}

/** Known fields of a request that its handler read; unknown ones are refused in the query too. @throws MatteError */
export function knownFieldsOf({ request, reply }: Exchange, { fields, schema, partOf, issuesOf }: Given): Fields {
  const unknown: Unknown[] = []
  const known = cleanFields(fields, schema, ([first = '', ...inner], names) => {
    unknown.push({ part: partOf(first), names: [first, ...inner], known: names })
  }) as Fields
  const isLenient = readHandling(request, reply) === 'lenient'
  const refused = ignoreOthers(reply, unknown, () => !isLenient)
  if (refused.length > 0) throw refusalOf(refused, issuesOf(known))
  return known
}

/** The refused ones; the header names the others. */
function ignoreOthers(reply: FastifyReply, unknown: readonly Unknown[], isRefused: (one: Unknown) => boolean) {
  const ignored = unknown.filter((each) => !isRefused(each))
  if (ignored.length > 0) reply.header('x-ignored-fields', headerList(ignored))
  return unknown.filter(isRefused)
}

function refusalOf(refused: readonly Unknown[], more: readonly Issue[]): MatteError {
  const issues = [...refused.slice(0, issuesMax).map(issueOf), ...more]
  return invalidParams(issues.slice(0, issuesMax), { message: refusal })
}

const refusal =
  'The request has unknown fields; see details.issues. `Prefer: handling=lenient` ignores those of a body.'

/** The errors that the validation would report after this hook. */
function issuesOfBody(request: FastifyRequest): Issue[] {
  const verdict: unknown = request.getValidationFunction('body')?.(request.body)
  const { error = [] } = Object(verdict) as { readonly error?: FastifySchemaValidationError[] }
  return toIssues(error, 'body')
}

function readHandling({ headers }: FastifyRequest, reply: FastifyReply): 'strict' | 'lenient' | undefined {
  const handling = readPreferences(headers.prefer).get('handling')?.toLowerCase()
  if (handling !== 'strict' && handling !== 'lenient') return undefined
  applyPreference(reply, `handling=${handling}`)
  return handling
}

function cleanQuery(request: FastifyRequest, schema: unknown): Unknown[] {
  const { properties = {} } = (schema ?? {}) as ObjectSchema
  const query = request.query as Fields
  const unknown: Unknown[] = []
  for (const [name, value] of Object.entries(query)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) {
      unknown.push({ part: '/query', names: [name], known: Object.keys(properties) })
      delete query[name]
    } else if (value === '') delete query[name]
    // Numbers of up to 15 digits are exact; longer ones stay text and are refused.
    else if (property.type === 'integer' && /^[+-]?\d{1,15}$/.test(String(value))) query[name] = Number(value)
    else if (property.type === 'number' && /^[+-]?(\d{1,15}|\d\.\d{1,14})$/.test(String(value)))
      query[name] = Number(value)
  }
  return unknown
}

function cleanBody(request: FastifyRequest, schema: unknown): Unknown[] {
  if (schema === undefined) return []
  const { required = [] } = schema as ObjectSchema
  if (required.length === 0 && request.body === undefined) request.body = {}
  const unknown: Unknown[] = []
  request.body = cleanFields(request.body, schema as ObjectSchema, (names, known) => {
    unknown.push({ part: '/body', names, known })
  })
  return unknown
}

type Report = (names: readonly string[], known: readonly string[]) => void

/** Copies instead of deleting: a body may have 90,000 unknown fields, and each deletion is slow. */
function cleanFields(value: unknown, { properties, required = [] }: ObjectSchema, report: Report): unknown {
  if (properties === undefined || !isFields(value)) return value
  const known: Fields = {}
  for (const [name, field] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) report([name], Object.keys(properties))
    else if (field !== null || required.includes(name)) {
      known[name] = cleanFields(field, property, (names, others) => report([name, ...names], others))
    }
  }
  return known
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function issueOf({ part, names, known }: Unknown): Issue {
  const path = [part, ...names.map(escapePointer)].join('/')
  const right = nearestOf(names.at(-1) ?? '', known)
  return { path, message: right === undefined ? 'is not known here' : `is not known here: did you mean ${right}?` }
}

/** Undefined if no name is near: the same letters in another case or with `_`, or two changed letters. */
function nearestOf(name: string, known: readonly string[]): string | undefined {
  if (name.length > nameLengthMax || known.length === 0) return undefined
  const plain = (text: string): string => text.replaceAll(/[_-]/g, '').toLowerCase()
  const nearest = known[known.map(plain).indexOf(closest(plain(name), known.map(plain)))] ?? ''
  const changesMax = Math.min(2, Math.floor(nearest.length / 3))
  return distance(plain(name), plain(nearest)) <= changesMax ? nearest : undefined
}

function headerList(unknown: readonly Unknown[]): string {
  const shown = unknown
    .slice(0, namesMax)
    .map(({ names }) => encodeURIComponent(names.join('.').slice(0, nameLengthMax).toWellFormed()))
  return unknown.length > namesMax ? `${shown.join(', ')}, +${unknown.length - namesMax}` : shown.join(', ')
}
