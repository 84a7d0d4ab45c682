// Request of a cut-out in one call: an image, and the fields of a task. A form has both. Beside a body that is the
// image, the fields are query parameters.
import { createHash } from 'node:crypto'
import { type Issue, invalidParam, invalidParams } from '@matte/core/invalid-params'
import type { RequestedOutput } from '@matte/core/task/output'
import { type Static, Type } from 'typebox'
import { escapePointer, toIssues } from '../errors/issues.ts'
import { knownFieldsOf } from '../http/unknown-fields.ts'
import { compileValidator } from '../http/validation.ts'
import type { ByteHold } from '../image-request/byte-budget.ts'
import { type ImageFile, mediaTypeOf, readForm, readImage } from '../image-request/image-body.ts'
import type { Exchange } from '../limit/request-body.ts'
import { outputFields } from '../schemas/output.ts'
import {
  type CommonRequest,
  callbackUrl,
  findTaskIssues,
  modelVersion,
  retention,
  type TaskRequestDeps,
} from './shared/task-request.ts'

const taskFields = { modelVersion, callbackUrl: callbackUrl('As of a task.'), retention }
const fieldsSchema = Type.Object({ ...taskFields, ...outputFields })
const validate = compileValidator({ schema: fieldsSchema, httpPart: 'body', method: 'POST', url: '' })

/** Name of the image in a form. */
const fileField = 'file'

type Part = '/query' | '/body'
type Texts = ReadonlyMap<string, string>

type Read = { readonly image: ImageFile; readonly query: Texts; readonly body: Texts }

export type CutOutRequest = {
  readonly image: ImageFile
  readonly wanted: CommonRequest
  /** Equal for equivalent requests. */
  readonly identity: unknown
}

type Limits = { readonly imageBytesMax: number; readonly hold: ByteHold }

/** @throws MatteError INVALID_PARAMS; others as `readForm` */
export async function readCutOut(exchange: Exchange, limits: Limits): Promise<CutOutRequest> {
  const { image, query, body } = await readInput(exchange, limits)
  const twice = [...body.keys()].find((name) => query.has(name))
  if (twice !== undefined) throw invalidParam(pathOf('/body', twice), 'is in the query too: send it once')
  const partOf = (name: string): Part => (query.has(name) ? '/query' : '/body')
  const given = [...query, ...body].filter(([, text]) => text !== '')
  const fields = Object.fromEntries(given.map(([name, text]) => [name, toValue(name, text, partOf(name))]))
  const issuesOf = (known: object): Issue[] => findIssues(known, partOf)
  const known = knownFieldsOf(exchange, { fields, schema: fieldsSchema, partOf, issuesOf })
  const issues = issuesOf(known)
  if (issues.length > 0) throw invalidParams(issues)
  const identity = { fields: known, image: createHash('sha256').update(image.bytes).digest('hex') }
  return { image, identity, wanted: toWanted(known) }
}

/** Issues beyond the schema, as for `POST /tasks`. */
export async function findCutOutIssues({ wanted }: CutOutRequest, exchange: Exchange, deps: TaskRequestDeps) {
  const { caller, query } = exchange.request
  const issues = await findTaskIssues(wanted, caller.planLimits, deps)
  return issues.map(({ path, message }) => {
    const names = path.replace(/^\/body\/(output\/)?/, '')
    return { message, path: `${Object.hasOwn(Object(query), names.split('/')[0] ?? '') ? '/query' : '/body'}/${names}` }
  })
}

async function readInput(exchange: Exchange, limits: Limits): Promise<Read> {
  const query = readQuery(exchange.request.query)
  const type = mediaTypeOf(exchange.request.headers['content-type'])
  if (type.startsWith('image/')) return { image: await readImage(exchange, limits), query, body: new Map() }
  if (type !== 'multipart/form-data') throw invalidParam('/headers/content-type', wrongType)
  const { fields, files } = await readForm(exchange, limits)
  const { [fileField]: image, ...others } = Object.fromEntries(files)
  if (image === undefined) throw invalidParam(pathOf('/body', fileField), missingFile)
  const [other] = Object.keys(others)
  if (other !== undefined) throw invalidParam(pathOf('/body', other), `must not be a file: only ${fileField} is one`)
  return { image, query, body: fields }
}

const wrongType =
  'must be multipart/form-data with the photo as `file`, or the type of a photo that is the body, such as image/jpeg'
const missingFile = 'is required, as a file with a name: curl -F file=@photo.jpg'

function readQuery(query: unknown): Texts {
  const texts = new Map<string, string>()
  for (const [name, value] of Object.entries(query as Record<string, string | string[]>)) {
    if (typeof value !== 'string') throw invalidParam(pathOf('/query', name), 'must be sent once')
    texts.set(name, value)
  }
  return texts
}

// TypeBox's types hide the members of a schema.
const properties = fieldsSchema.properties as Readonly<Record<string, { readonly type?: string | readonly string[] }>>

/** A text as its field has it. A text of another form stays, and the schema refuses it. @throws MatteError */
function toValue(name: string, text: string, part: Part): unknown {
  const types = Object.hasOwn(properties, name) ? [properties[name]?.type ?? []].flat() : []
  if (types.includes('integer') && /^[+-]?\d{1,15}$/.test(text)) return Number(text)
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  return types.includes('object') ? parseJson(text, pathOf(part, name)) : text
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidParam(path, 'must be JSON')
  }
}

function findIssues(fields: object, partOf: (name: string) => Part): Issue[] {
  const { error = [] } = Object(validate(fields)) as { readonly error?: Parameters<typeof toIssues>[0] }
  return toIssues(error, undefined).map(({ path, message }) => {
    const [, name = ''] = path.split('/')
    return { path: `${partOf(name)}${path}`, message }
  })
}

function toWanted(known: object): CommonRequest {
  const { value } = validate(known) as { readonly value: Static<typeof fieldsSchema> }
  const { modelVersion: model, callbackUrl: target = null, retention: seconds = null, ...output } = value
  return { modelVersion: model, callbackUrl: target, retention: seconds, output: output as RequestedOutput }
}

const pathOf = (part: Part, name: string): string => `${part}/${escapePointer(name.slice(0, 64))}`
