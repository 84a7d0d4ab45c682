// Completes the document with response headers, error codes, examples, links and webhooks, and moves shared parts into
// components. Does not change what is served.

import { errorExamples } from '../../schemas/error-examples.ts'
import { links } from '../../schemas/links.ts'
import { answerHeaders, type HeaderName, listedHeadersOf, type ResponseKind } from '../../schemas/response-headers.ts'
import { codesOf } from '../../schemas/schema.ts'
import {
  type ApiDocument,
  idempotentMark,
  isReference,
  type Media,
  type Operation,
  type Response,
} from './api-document.ts'
import { buildExample, type JsonSchema, schemaPrefix } from './example.ts'
import { writeOnce } from './shared-components.ts'
import { describeWebhooks } from './webhooks.ts'

const exampleId = '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10'

/** Changes the document in place. @throws Error when an error response lists an unknown code */
export function completeDocument(document: ApiDocument): void {
  const { components, paths } = document
  components.headers = {}
  components.examples = {}
  const kinds = new Map<Response, ResponseKind>()
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const { requestBody } = operation
    if (requestBody) {
      requestBody.required = requiresBody(requestBody.content)
      if (operation.deprecated !== true) closeFields(requestBody.content)
    }
    describeParameters(operation)
    for (const [response, kind] of describeResponses(components, operation)) kinds.set(response, kind)
    delete operation[idempotentMark]
  }
  document.webhooks = describeWebhooks(components)
  writeOnce(document, kinds)
  for (const methods of Object.values(paths)) {
    for (const operation of Object.values(methods)) operation.responses = withDefault(operation.responses)
  }
}

/** A failure of the service is the answer to every status that an operation does not list. */
function withDefault({ 500: failure, ...listed }: Operation['responses']): Operation['responses'] {
  return failure === undefined ? listed : { ...listed, default: failure }
}

const requiresBody = (content: Record<string, Media>): boolean =>
  Object.values(content).some(({ schema }) => (schema.required?.length ?? 0) > 0)

/** Unknown fields are refused (D2). */
function closeFields(content: Record<string, Media>): void {
  const { schema } = content['application/json'] ?? {}
  if (schema?.properties !== undefined) schema.additionalProperties = false
}

function describeParameters({ parameters = [] }: Operation): void {
  for (const parameter of parameters) {
    if (isReference(parameter)) continue
    // False is the default of OpenAPI.
    if (parameter.required === false) delete parameter.required
    if (parameter.example !== undefined) continue
    const { examples: _moved, ...schema } = parameter.schema
    Object.assign(parameter, { schema, example: buildExample(parameter.schema, {}) })
  }
}

function describeResponses(components: ApiDocument['components'], operation: Operation): Map<Response, ResponseKind> {
  const { operationId, deprecated = false, responses } = operation
  const idempotent = operation[idempotentMark] === true
  const credential = credentialOf(operation)
  const kinds = new Map<Response, ResponseKind>()
  for (const [status, response] of Object.entries(responses)) {
    if (isReference(response)) continue
    const isCutOut = operationId === 'createCutOut'
    const kind = { status: Number(status), idempotent, deprecated, credential, isCutOut }
    kinds.set(response, kind)
    response.headers = nameHeaders(components.headers ?? {}, kind)
    const media = response.content?.['application/json']
    if (media === undefined) continue
    if (kind.status >= 400) describeRefusals(components.examples ?? {}, response, media)
    else describeSuccess(components.schemas, media)
    const following = deprecated || kind.status >= 400 ? undefined : links[operationId]
    if (following) response.links = following
  }
  return kinds
}

const credentialOf = ({ security: [first] = [] }: Operation): 'key' | 'token' | 'none' =>
  first === undefined ? 'none' : Object.hasOwn(first, 'apiKey') ? 'key' : 'token'

/** Shared headers have two entries: one for responses that always have the header, one for the others. */
function nameHeaders(shared: Record<string, unknown>, kind: ResponseKind): Record<string, unknown> {
  const entries = [...listedHeadersOf(kind)].map(([name, required]: [HeaderName, boolean]) => {
    const key = required ? name : `${name}.Optional`
    shared[key] = { ...answerHeaders[name], ...(required && { required }) }
    return [name, { $ref: `#/components/headers/${key}` }]
  })
  return Object.fromEntries(entries)
}

/** The description of an error response is the list of its codes, see `responses` in schemas/schema.ts. */
function describeRefusals(shared: Record<string, unknown>, response: Response, media: Media): void {
  const codes = codesOf(response)
  // Lists members without a rule too, because the linter rejects unlisted members of an example.
  const narrowed: JsonSchema = { properties: { code: { enum: codes }, message: {}, details: {} } }
  media.schema = { allOf: [media.schema, { properties: { error: narrowed } }] }
  delete media.example
  media.examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
  for (const code of codes) {
    const { message, details = {} } = errorExamples[code]
    shared[code] = { summary: message, value: { request_id: exampleId, error: { code, message, details } } }
  }
}

/** A response of a named schema shows the example of the schema. */
function describeSuccess(schemas: Record<string, JsonSchema>, media: Media): void {
  if (showsExample(schemas, media.schema)) return
  const { request_id: _made, ...rest } = buildExample(media.schema, schemas) as Record<string, unknown>
  media.example = { request_id: exampleId, ...rest }
}

function showsExample(schemas: Record<string, JsonSchema>, { properties }: JsonSchema): boolean {
  const { data } = properties ?? {}
  const { $ref } = data?.properties?.items?.items ?? data ?? {}
  return $ref !== undefined && schemas[$ref.slice(schemaPrefix.length)]?.examples !== undefined
}
