// Adds to the document what the routes' schemas do not say and the surface around them does: the headers of answers,
// the codes and an example of each refusal, an example of each success, links from answer to next request. Nothing here
// changes what is served.
import { type ErrorCode, errorCodes } from '@matte/core/error'
import { type AnswerKind, answerHeaders, type HeaderName, headersOf } from '../../schemas/answer-headers.ts'
import { errorExamples } from '../../schemas/error-examples.ts'
import { links } from '../../schemas/links.ts'
import { buildExample, type JsonSchema } from './example.ts'

type Media = { schema: JsonSchema; example?: unknown; examples?: Record<string, unknown> }
type Response = {
  description: string
  headers?: Record<string, unknown>
  content?: Record<string, Media>
  links?: Record<string, unknown>
}
type Security = readonly Readonly<Record<string, unknown>>[]
type Operation = {
  operationId: string
  deprecated?: boolean
  security?: Security
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Response>
  [idempotentMark]?: true
}
/** As much of an OpenAPI document as is completed here. */
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, unknown>> & { schemas: Record<string, JsonSchema> }
}

/** On an operation that takes `Idempotency-Key`; gone from the finished document. */
export const idempotentMark = 'x-idempotent'

const exampleId = '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10'

/** Completes the document in place. @throws Error when an error answer names something that is no code */
export function completeDocument(document: ApiDocument): void {
  const { components, paths } = document
  components.headers = {}
  components.examples = {}
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const { requestBody, deprecated = false, security = [], responses } = operation
    const credential = credentialOf(security)
    // Where nothing is required, nothing has to be sent.
    if (requestBody) requestBody.required = requiresBody(requestBody.content)
    const idempotent = operation[idempotentMark] === true
    delete operation[idempotentMark]
    for (const [status, response] of Object.entries(responses)) {
      response.headers = nameHeaders(components.headers, { status: Number(status), idempotent, deprecated, credential })
      const media = response.content?.['application/json']
      if (media === undefined) continue
      if (Number(status) >= 400) describeRefusals(components.examples, response, media)
      else describeSuccess(components.schemas, media)
      const following = deprecated || Number(status) >= 400 ? undefined : links[operation.operationId]
      if (following) response.links = following
    }
  }
}

/** Of an operation's `security`, which is empty where none is needed. */
const credentialOf = ([first]: Security): 'key' | 'token' | 'none' =>
  first === undefined ? 'none' : Object.hasOwn(first, 'apiKey') ? 'key' : 'token'

const requiresBody = (content: Record<string, Media>): boolean =>
  Object.values(content).some(({ schema }) => (schema.required?.length ?? 0) > 0)

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
function describeRefusals(shared: Record<string, unknown>, { description }: Response, media: Media): void {
  const codes = description.split(', ').map(toCode)
  // The members without a rule are named because the linter takes what a part does not name for an error of the
  // example.
  const narrowed = { properties: { code: { enum: codes }, message: {}, details: {} } }
  media.schema = { allOf: [media.schema, { properties: { error: narrowed } }] }
  delete media.example
  media.examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
  for (const code of codes) {
    const { message, details = {} } = errorExamples[code]
    shared[code] = { summary: message, value: { request_id: exampleId, error: { code, message, details } } }
  }
}

function toCode(text: string): ErrorCode {
  const code = errorCodes.find((each) => each === text)
  if (code === undefined) throw new Error(`an error answer names ${text}, which is no code`)
  return code
}

function describeSuccess(schemas: Record<string, JsonSchema>, media: Media): void {
  const { request_id: _made, ...rest } = buildExample(media.schema, schemas) as Record<string, unknown>
  media.example = { request_id: exampleId, ...rest }
}
