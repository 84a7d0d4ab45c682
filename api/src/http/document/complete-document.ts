// Adds to the document what the routes' schemas do not say and the surface around them does: the headers of answers,
// the codes and an example of each refusal, an example of each success and parameter, links from answer to next
// request, the webhooks. Parts that several operations have are then written once. Nothing here changes what is served.
import { type AnswerKind, answerHeaders, type HeaderName, headersOf } from '../../schemas/answer-headers.ts'
import { errorExamples } from '../../schemas/error-examples.ts'
import { links } from '../../schemas/links.ts'
import { codesOf } from '../../schemas/schema.ts'
import {
  type ApiDocument,
  idempotentMark,
  isReference,
  type Media,
  type Operation,
  type Response,
} from './api-document.ts'
import { buildExample, type JsonSchema } from './example.ts'
import { describeWebhooks } from './webhooks.ts'
import { writeOnce } from './write-once.ts'

const exampleId = '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10'

/** Completes the document in place. @throws Error when an error answer names something that is no code */
export function completeDocument(document: ApiDocument): void {
  const { components, paths } = document
  components.headers = {}
  components.examples = {}
  const kinds = new Map<Response, AnswerKind>()
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    // Where nothing is required, nothing has to be sent.
    const { requestBody } = operation
    if (requestBody) requestBody.required = requiresBody(requestBody.content)
    describeParameters(operation)
    for (const [response, kind] of describeAnswers(components, operation)) kinds.set(response, kind)
    delete operation[idempotentMark]
  }
  document.webhooks = describeWebhooks(components)
  writeOnce(document, kinds)
}

const requiresBody = (content: Record<string, Media>): boolean =>
  Object.values(content).some(({ schema }) => (schema.required?.length ?? 0) > 0)

function describeParameters({ parameters = [] }: Operation): void {
  for (const parameter of parameters) {
    if (isReference(parameter) || parameter.example !== undefined) continue
    const { examples: _moved, ...schema } = parameter.schema
    Object.assign(parameter, { schema, example: buildExample(parameter.schema, {}) })
  }
}

function describeAnswers(components: ApiDocument['components'], operation: Operation): Map<Response, AnswerKind> {
  const { operationId, deprecated = false, responses } = operation
  const idempotent = operation[idempotentMark] === true
  const credential = credentialOf(operation)
  const kinds = new Map<Response, AnswerKind>()
  for (const [status, response] of Object.entries(responses)) {
    if (isReference(response)) continue
    const kind = { status: Number(status), idempotent, deprecated, credential }
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

/** The credential that `security` names; an operation that needs none has an empty list. */
const credentialOf = ({ security: [first] = [] }: Operation): 'key' | 'token' | 'none' =>
  first === undefined ? 'none' : Object.hasOwn(first, 'apiKey') ? 'key' : 'token'

/** References to the shared headers, each of which has one entry for answers that always have it and one for others. */
function nameHeaders(shared: Record<string, unknown>, kind: AnswerKind): Record<string, unknown> {
  const entries = [...headersOf(kind)].map(([name, required]: [HeaderName, boolean]) => {
    const key = required ? name : `${name}.Optional`
    shared[key] = { ...answerHeaders[name], ...(required && { required }) }
    return [name, { $ref: `#/components/headers/${key}` }]
  })
  return Object.fromEntries(entries)
}

/** The description of an error answer is the list of its codes, see `responses` in schemas/schema.ts. */
function describeRefusals(shared: Record<string, unknown>, response: Response, media: Media): void {
  const codes = codesOf(response)
  // The members without a rule are named because the linter takes what a part does not name for an error of the
  // example.
  const narrowed: JsonSchema = { properties: { code: { enum: codes }, message: {}, details: {} } }
  media.schema = { allOf: [media.schema, { properties: { error: narrowed } }] }
  delete media.example
  media.examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
  for (const code of codes) {
    const { message, details = {} } = errorExamples[code]
    shared[code] = { summary: message, value: { request_id: exampleId, error: { code, message, details } } }
  }
}

function describeSuccess(schemas: Record<string, JsonSchema>, media: Media): void {
  const { request_id: _made, ...rest } = buildExample(media.schema, schemas) as Record<string, unknown>
  media.example = { request_id: exampleId, ...rest }
}
