// The API reference: an overview, and a page per tag of the OpenAPI document with its operations.
import { code, fence, join, json, table } from '../markdown.ts'
import { type Page, urlOf } from '../page.ts'
import {
  type ApiDocument,
  codesOf,
  type ListedOperation,
  type Parameter,
  pathOfTag,
  type Response,
  type Schema,
} from './operations.ts'
import { requestExamples } from './requests.ts'
import { resolveSchema, rowsOf, type SchemaRow, typeOf } from './schema-rows.ts'

type Schemas = Readonly<Record<string, Schema>>

export function buildReferencePages(document: ApiDocument, operations: readonly ListedOperation[]): Page[] {
  const tags = document.tags.filter(({ name }) => operations.some(({ tag }) => tag === name))
  return [
    buildOverview(document, operations),
    ...tags.map(({ name, description }) => {
      const own = operations.filter(({ tag }) => tag === name)
      const markdown = join(
        `# ${name}`,
        description,
        table(
          ['operation', 'request'],
          own.map(({ url, summary, method, path }) => [`[${summary}](${url})`, `${method} ${code(path)}`]),
        ),
        ...own.map((operation) => describe(operation, document.components.schemas)),
      )
      return { path: pathOfTag(name), title: name, markdown }
    }),
  ]
}

function buildOverview({ info, tags }: ApiDocument, operations: readonly ListedOperation[]): Page {
  const rows = tags.map(({ name, description }) => [
    `[${name}](${urlOf(pathOfTag(name))})`,
    description,
    String(operations.filter(({ tag }) => tag === name).length),
  ])
  const markdown = join(
    '# API reference',
    `Interface version ${info.version}. The examples read the base URL, such as \`https://matte.example.com/api/v1\`, ` +
      'from `MATTE_BASE_URL`. The same reference for programs is [openapi.json](/api/v1/openapi.json), and for ' +
      'operators [another](/api/v1/operator/openapi.json).',
    table(['resource', 'contents', 'operations'], rows),
    info.description,
  )
  return { path: 'api', title: 'API reference', markdown }
}

function describe(operation: ListedOperation, schemas: Schemas): string {
  const { operationId, summary, method, path, deprecated, description, parameters = [] } = operation
  const examples = requestExamples(operation, schemas).map((one) => fence(one.language, one.code, one.title))
  return join(
    `## ${summary} {:#${operationId}}`,
    `**${method}** ${code(path)}`,
    deprecated && 'Deprecated: removed in version 3.',
    description,
    describeParameters(parameters, schemas),
    describeBody(operation, schemas),
    '**Request**',
    `::: code-group\n${examples.join('\n')}\n:::`,
    describeResponses(operation, schemas),
  )
}

const fieldName = (name: string, required: boolean): string => `${code(name)}${required ? ' required' : ''}`

function describeParameters(parameters: readonly Parameter[], schemas: Schemas): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const resolved = resolveSchema(schema, schemas)
    const [limits] = rowsOf({ properties: { [name]: { ...resolved, description: '' } } }, schemas)
    const text = [description ?? resolved.description, limits?.description].filter(Boolean).join(' ')
    return [fieldName(name, required === true), place, typeOf(resolved, schemas), text]
  })
  return join('**Parameters**', table(['name', 'in', 'type', 'meaning'], rows))
}

function describeBody({ requestBody }: ListedOperation, schemas: Schemas): string {
  const schema = requestBody?.content['application/json']?.schema
  if (schema === undefined) return ''
  return join(
    '**Body**',
    requestBody?.required === false && 'The body is optional.',
    fieldTable(rowsOf(schema, schemas), true),
  )
}

const fieldTable = (rows: readonly SchemaRow[], marksRequired: boolean): string =>
  rows.length === 0
    ? 'An object without fixed fields.'
    : table(
        ['field', 'type', 'meaning'],
        rows.map(({ name, type, required, description }) => [
          fieldName(name, marksRequired && required),
          type,
          description,
        ]),
      )

function describeResponses({ responses }: ListedOperation, schemas: Schemas): string {
  const entries = Object.entries(responses)
  const errors = entries.filter(([status]) => !(Number(status) < 400))
  const rows = errors.map(([status, response]) => [
    status,
    codesOf(response).map(code).join(', ') || response.description,
  ])
  return join(
    '**Responses**',
    ...entries
      .filter(([status]) => Number(status) < 400)
      .map(([status, response]) => describeSuccess(status, response, schemas)),
    rows.length > 0 && table(['status', 'error codes'], rows),
  )
}

function describeSuccess(status: string, { description, content = {} }: Response, schemas: Schemas): string {
  const head = `**${status}** ${description}`
  const media = content['application/json']
  if (media?.schema === undefined) {
    const types = Object.keys(content).map(code)
    return join(head, types.length > 0 && `The body is ${types.join(' or ')}.`)
  }
  const { properties = {} } = resolveSchema(media.schema, schemas)
  const data = properties.data ?? media.schema
  const example = media.example ?? resolveSchema(data, schemas).examples?.[0]
  const isWrapped = properties.data !== undefined && media.example === undefined && example !== undefined
  const rows = rowsOf(data, schemas)
  return join(
    head,
    example !== undefined && json(isWrapped ? { request_id: '…', data: example } : example),
    rows.length > 0 &&
      `::: details Fields of ${properties.data ? '`data`' : 'the body'}\n\n${fieldTable(rows, false)}\n\n:::`,
  )
}
