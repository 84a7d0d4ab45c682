import swagger from '@fastify/swagger'
import type { FastifyContextConfig, FastifyInstance, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { signingSecretSchema } from '../routes/open/developer/signing-secret.ts'
import { apiKeySchema } from '../schemas/api-key.ts'
import { batchSchema, batchSummarySchema } from '../schemas/batch.ts'
import { errorSchema } from '../schemas/schema.ts'
import { taskSchema } from '../schemas/task.ts'
import { uploadGrantSchema } from '../schemas/upload.ts'
import { usageSchema } from '../schemas/usage.ts'
import {
  deletedSchema,
  newWebhookEndpointSchema,
  rotatedWebhookEndpointSchema,
  webhookEndpointSchema,
} from '../schemas/webhook.ts'
import { type ApiDocument, completeDocument, idempotentMark } from './complete-document.ts'

export const openapiPath = '/api/v1/openapi.json'

const named = [
  errorSchema,
  uploadGrantSchema,
  taskSchema,
  batchSummarySchema,
  batchSchema,
  webhookEndpointSchema,
  newWebhookEndpointSchema,
  rotatedWebhookEndpointSchema,
  deletedSchema,
  signingSecretSchema,
  apiKeySchema,
  usageSchema,
]

const description = `Removes the background from images.

1. Get an upload grant: \`POST /api/v1/open/developer/uploads/presign\` with \`fileName\` and \`contentType\`.
2. Send the bytes: \`curl -T cat.jpg -H 'Content-Type: image/jpeg' "$uploadUrl"\`.
3. Create a task: \`POST /api/v1/open/developer/tasks\` with the grant's \`objectKey\` as \`imageUrl\`.
4. Read the task until it has ended, or hear of it by webhook; \`resultUrl\` is the picture.

**Answers.** Success is \`{request_id, data}\`, failure \`{request_id, error: {code, message, details}}\`; \`request_id\` is
also the header \`X-Request-Id\`, and a request's own \`X-Request-Id\` is adopted. What a path or a method does not have is
404 \`NOT_FOUND\`; the header \`Allow\` then names the methods that a known path has.

**Unknown fields** and query parameters are ignored and named in \`X-Ignored-Fields\`; \`Prefer: handling=strict\` refuses
them. \`null\` for an optional field means absent.

**Limits.** Requests are counted per workspace and minute; the \`X-RateLimit-\` headers tell what is left. Answers 429 and
503 carry \`Retry-After\` in seconds.

**Once.** Send an \`Idempotency-Key\` with what creates or charges: the same request again, within 24 hours, makes nothing
new.`

const tags = [
  { name: 'Uploads', description: 'Where photos go before a task can name them.' },
  { name: 'Tasks', description: 'One photo in, one cut-out back.' },
  { name: 'Batches', description: 'Tasks for many photos, created together or not at all.' },
  { name: 'Webhooks', description: 'Where the service tells of events, and how a receiver knows it is the service.' },
  { name: 'API keys', description: 'The keys of the workspace. A key can make no key.' },
  { name: 'Usage', description: 'What the workspace has used.' },
  { name: 'Deprecated', description: 'Paths of version 1, which go with version 3.' },
]

/** Makes the OpenAPI 3.1 document out of the routes' schemas; must be registered before them. */
export async function documentRoutes(app: FastifyInstance, publicUrl: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Matte',
        version: '2.0.0',
        summary: 'Background removal: a photo goes in, its cut-out comes back.',
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags,
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'Of the form service_live_….' },
        },
      },
    },
    // Without this a schema with an `$id` is called def-0.
    refResolver: { buildLocalReference: (json, _baseUri, _fragment, index) => String(json.$id ?? `Schema${index}`) },
    transform: ({ schema, url, route }) => ({ url, schema: describeRoute(schema, url, route.config) }),
    transformObject: (made) => {
      if (!('openapiObject' in made)) throw new Error('the document is not of OpenAPI')
      completeDocument(made.openapiObject as unknown as ApiDocument)
      return made.openapiObject
    },
  })
  for (const schema of named) app.addSchema(schema)
}

type Documented = FastifySchema & { readonly operationId?: string; readonly tags?: readonly string[] }

const requestIdHeader = Type.Optional(
  Type.String({ description: 'Adopted as the id of the request if it is 1 to 128 printable ASCII characters.' }),
)
const preferHeader = Type.Optional(Type.String({ description: '`handling=strict` refuses unknown fields.' }))

/** For the document alone: the credential, and what every route takes. */
function describeRoute(schema: FastifySchema, url: string, config: FastifyContextConfig | undefined) {
  if (config?.scope === undefined) return schema
  const { operationId = '', tags = [], headers, params } = schema as Documented
  const legacy = url.startsWith('/v1/')
  return {
    ...schema,
    operationId: legacy ? `legacy${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}` : operationId,
    tags: legacy ? ['Deprecated'] : tags,
    headers: Type.Object({ 'X-Request-Id': requestIdHeader, Prefer: preferHeader, ...propertiesOf(headers) }),
    params: Type.Object(Object.fromEntries(Object.keys(propertiesOf(params)).map((name) => [name, id]))),
    security: [{ apiKey: [] }],
    'x-required-scope': config.scope,
    ...(config.idempotent && { [idempotentMark]: true }),
  }
}

/** Ids are UUIDs; what is none is answered like an unknown one (D3), so the routes' own schemas take any text. */
const id = Type.String({ format: 'uuid', examples: ['0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'] })

const propertiesOf = (schema: unknown) =>
  ((schema ?? {}) as { properties?: Record<string, ReturnType<typeof Type.String>> }).properties ?? {}

export function serveDocument(app: FastifyInstance): void {
  const options = { schema: { hide: true }, config: { public: true, envelope: false } } as const
  app.get(openapiPath, options, async () => app.swagger())
}
