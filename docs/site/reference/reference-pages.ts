// The API reference: an overview, and a page per tag of the OpenAPI document with its operations.

import { escapeHtml } from '../html.ts'
import { codeBlock } from '../markdown/code.ts'
import { anchorLink, type Resolve, renderDescription, renderInline, renderMarkdown } from '../markdown/render.ts'
import { type Page, urlOf } from '../page.ts'
import { table } from '../parts.ts'
import {
  type ApiDocument,
  codesOf,
  type ListedOperation,
  type Parameter,
  pathOfTag,
  type Response,
  type Schema,
} from './operations.ts'
import { type RequestExample, requestExamples } from './requests.ts'
import { resolveSchema, rowsOf, type SchemaRow, typeOf } from './schema-rows.ts'

type Context = { readonly schemas: Readonly<Record<string, Schema>>; readonly resolve: Resolve }

export function buildReferencePages(
  document: ApiDocument,
  operations: readonly ListedOperation[],
  resolve: Resolve,
): Page[] {
  const context = { schemas: document.components.schemas, resolve }
  const tags = document.tags.filter(({ name }) => operations.some(({ tag }) => tag === name))
  return [
    buildOverview(document, operations, resolve),
    ...tags.map((tag) => {
      const own = operations.filter((operation) => operation.tag === tag.name)
      const html = `<h1>${tag.name}</h1>
<p class="lead">${renderInline(tag.description, resolve)}</p>
${operationTable(own)}
${own.map((operation) => renderOperation(operation, context)).join('\n')}`
      const headings = own.map(({ operationId, summary }) => ({ level: 2, id: operationId, text: summary }))
      return { path: pathOfTag(tag.name), title: tag.name, group: 'API reference', html, headings } as const
    }),
  ]
}

function buildOverview({ info, tags }: ApiDocument, operations: readonly ListedOperation[], resolve: Resolve): Page {
  const rows = tags.map(({ name, description }) => [
    `<a href="${urlOf(pathOfTag(name))}">${name}</a>`,
    renderInline(description, resolve),
    String(operations.filter(({ tag }) => tag === name).length),
  ])
  const { html } = renderMarkdown(info.description, resolve)
  return {
    path: 'api',
    title: 'API reference',
    label: 'Overview',
    group: 'API reference',
    html: `<h1>API reference</h1>
<p class="lead">Interface version ${info.version}. The examples read the base URL, such as \
<code>https://matte.example.com/api/v1</code>, from <code>MATTE_BASE_URL</code>. The same reference for programs is \
<a href="/api/v1/openapi.json">openapi.json</a>, and for operators <a href="/api/v1/operator/openapi.json">another</a>.</p>
${table(['resource', 'contents', 'operations'], rows)}
${html}`,
    headings: [],
  }
}

const methodBadge = (method: string): string => `<span class="method ${method}">${method.toUpperCase()}</span>`

const operationTable = (operations: readonly ListedOperation[]): string =>
  table(
    ['operation', 'request'],
    operations.map(({ operationId, summary, method, path }) => [
      `<a href="#${operationId}">${escapeHtml(summary)}</a>`,
      `${methodBadge(method)} <code>${path}</code>`,
    ]),
  )

function renderOperation(operation: ListedOperation, context: Context): string {
  const { operationId, summary, method, path, deprecated, description = '' } = operation
  const parts = [
    `<h2 id="${operationId}">${escapeHtml(summary)}${anchorLink(operationId, summary)}</h2>`,
    `<p class="request">${methodBadge(method)} <code>${path.replaceAll('/', '/<wbr>')}</code></p>`,
    deprecated ? '<p class="note">Deprecated: removed in version 3.</p>' : '',
    renderDescription(description, context.resolve),
    renderParameters(operation.parameters ?? [], context),
    renderBody(operation, context),
    renderExamples(requestExamples(operation, context.schemas)),
    renderResponses(operation, context),
  ]
  return `<section class="operation" aria-labelledby="${operationId}">\n${parts.filter(Boolean).join('\n')}\n</section>`
}

function renderParameters(parameters: readonly Parameter[], { schemas, resolve }: Context): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const resolved = resolveSchema(schema, schemas)
    const [limits] = rowsOf({ properties: { [name]: { ...resolved, description: '' } } }, schemas)
    const text = [description ?? resolved.description, limits?.description].filter(Boolean).join(' ')
    return [
      fieldName(name, required === true),
      place,
      escapeHtml(typeOf(resolved, schemas)),
      renderInline(text, resolve),
    ]
  })
  return `<h3>Parameters</h3>\n${table(['name', 'in', 'type', 'meaning'], rows)}`
}

const fieldName = (name: string, required: boolean): string =>
  `<code>${escapeHtml(name)}</code>${required ? ' <span class="required">required</span>' : ''}`

function renderBody({ requestBody }: ListedOperation, context: Context): string {
  const schema = requestBody?.content['application/json']?.schema
  if (schema === undefined) return ''
  const rows = rowsOf(schema, context.schemas)
  const optional = requestBody?.required === false ? '<p>The body is optional.</p>' : ''
  return `<h3>Body</h3>\n${optional}${fieldTable(rows, context, true)}`
}

const fieldTable = (rows: readonly SchemaRow[], { resolve }: Context, marksRequired: boolean): string =>
  rows.length === 0
    ? '<p>An object without fixed fields.</p>'
    : table(
        ['field', 'type', 'meaning'],
        rows.map(({ name, type, required, description }) => [
          fieldName(name, marksRequired && required),
          escapeHtml(type),
          renderInline(description, resolve),
        ]),
      )

/** Tabs; without JavaScript all examples are visible. */
const renderExamples = (examples: readonly RequestExample[]): string =>
  `<h3>Request</h3>\n<div class="tabs">${examples
    .map(({ title, language, code }) => `<div class="tab" data-title="${title}">${codeBlock(code, language)}</div>`)
    .join('')}</div>`

function renderResponses({ responses }: ListedOperation, context: Context): string {
  const entries = Object.entries(responses)
  const successes = entries.filter(([status]) => Number(status) < 400)
  const errors = entries.filter(([status]) => Number(status) >= 400)
  return `<h3>Responses</h3>
${successes.map(([status, response]) => renderSuccess(status, response, context)).join('\n')}
${
  errors.length === 0
    ? ''
    : table(
        ['status', 'error codes'],
        errors.map(([status, response]) => errorRow(status, response, context)),
      )
}`
}

function renderSuccess(status: string, { description, content = {} }: Response, context: Context): string {
  const head = `<p><span class="status">${status}</span> ${renderInline(description, context.resolve)}</p>`
  const media = content['application/json']
  if (media?.schema === undefined) {
    const types = Object.keys(content).map((type) => `<code>${type}</code>`)
    return types.length === 0 ? head : `${head}\n<p>The body is ${types.join(' or ')}.</p>`
  }
  const { properties = {} } = resolveSchema(media.schema, context.schemas)
  const data = properties.data ?? media.schema
  const example = media.example ?? resolveSchema(data, context.schemas).examples?.[0]
  const rows = rowsOf(data, context.schemas)
  const fields =
    rows.length === 0
      ? ''
      : `<details><summary>Fields of ${properties.data ? '<code>data</code>' : 'the body'}</summary>${fieldTable(rows, context, false)}</details>`
  const body =
    properties.data && media.example === undefined && example !== undefined
      ? { request_id: '…', data: example }
      : example
  return `${head}${body === undefined ? '' : codeBlock(JSON.stringify(body, null, 2), 'json')}${fields}`
}

function errorRow(status: string, response: Response, { resolve }: Context): string[] {
  const codes = codesOf(response).map((code) => renderInline(`\`${code}\``, resolve))
  return [`<span class="status">${status}</span>`, codes.join(', ') || renderInline(response.description, resolve)]
}
