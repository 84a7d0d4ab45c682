import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { signingSecretSchema } from '../routes/open/developer/signing-secret.ts'
import { errorSchema } from '../schemas/schema.ts'
import { taskSchema } from '../schemas/task.ts'
import { uploadGrantSchema } from '../schemas/upload.ts'

export const openapiPath = '/api/v1/openapi.json'

const description = `Removes the background from images: get an upload grant, PUT the file, create a task, get its result.

Every answer carries \`request_id\`, also as the header \`X-Request-Id\`; a request's own \`X-Request-Id\` is adopted.
Unknown fields and query parameters are ignored and named in \`X-Ignored-Fields\`; \`Prefer: handling=strict\` refuses
them. \`null\` for an optional field means absent. Answers 429 and 503 carry \`Retry-After\` in seconds.`

/** Makes the OpenAPI 3.1 document out of the routes' schemas; must be registered before them. */
export async function documentRoutes(app: FastifyInstance, publicUrl: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Matte',
        version: '2.0.0',
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      components: { securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } } },
    },
    // Without this a schema with an `$id` is called def-0.
    refResolver: { buildLocalReference: (json, _baseUri, _fragment, index) => String(json.$id ?? `Schema${index}`) },
    transform: ({ schema, url, route }) => ({
      url,
      schema: { ...schema, ...(route.config?.scope !== undefined && { security: [{ apiKey: [] }] }) },
    }),
  })
  for (const schema of [errorSchema, taskSchema, uploadGrantSchema, signingSecretSchema]) app.addSchema(schema)
}

export function serveDocument(app: FastifyInstance): void {
  const options = { schema: { hide: true }, config: { public: true, envelope: false } } as const
  app.get(openapiPath, options, async () => app.swagger())
}
