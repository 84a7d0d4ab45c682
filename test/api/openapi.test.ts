import { describe, expect, it } from 'vitest'
import { useApi } from './given.ts'

const world = useApi()

type Json = Record<string, unknown>
type Operation = { security?: unknown; responses: Record<string, { description: string }> }
type Document = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Json; securitySchemes: Json }
}

const read = async (): Promise<Document> =>
  (await (await fetch(`${world.api.url}/api/v1/openapi.json`)).json()) as Document

const prefix = '/api/v1/open/developer'

describe('GET /api/v1/openapi.json', () => {
  it('is an OpenAPI 3.1 document with every route and its credential', async () => {
    const { openapi, paths, components } = await read()
    expect(openapi).toMatch(/^3\.1\./)
    const routes = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((m) => `${m} ${path}`))
    expect(routes.sort()).toEqual([
      `delete ${prefix}/tasks/{taskId}`,
      `get ${prefix}/signing-secret`,
      `get ${prefix}/tasks`,
      `get ${prefix}/tasks/{taskId}`,
      `post ${prefix}/tasks`,
      `post ${prefix}/uploads/presign`,
    ])
    for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
      expect(operation.security).toEqual([{ apiKey: [] }])
    }
    expect(components.securitySchemes).toEqual({ apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } })
  })

  it('names its schemas, and every reference leads to one', async () => {
    const document = await read()
    expect(Object.keys(document.components.schemas).sort()).toEqual(['Error', 'SigningSecret', 'Task', 'UploadGrant'])
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference)
    expect(references.length).toBeGreaterThan(0)
    for (const reference of references) {
      expect(reference).toMatch(/^#\/components\/schemas\/(Error|SigningSecret|Task|UploadGrant)$/)
    }
  })

  it('documents every status of creation with its codes', async () => {
    const { paths } = await read()
    const { responses } = paths[`${prefix}/tasks`]?.post ?? { responses: {} }
    const documented = Object.entries(responses).map(([status, { description }]) => [status, description])
    expect(Object.fromEntries(documented)).toEqual({
      201: 'The task, queued.',
      400: 'INVALID_PARAMS, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, TASK_CONCURRENT_LIMIT, CREDITS_INSUFFICIENT',
      401: 'API_KEY_MISSING, API_KEY_INVALID',
      403: 'DEVELOPER_API_ACCESS_DENIED, API_KEY_INSUFFICIENT_SCOPE, TASK_INPUT_FORBIDDEN',
      429: 'DEVELOPER_API_QUOTA_EXCEEDED',
      500: 'SYSTEM_INTERNAL_ERROR',
      503: 'TASK_MAINTENANCE, TASK_STORAGE_UNAVAILABLE',
    })
  })
})
