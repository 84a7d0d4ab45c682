import { describe, expect, it } from 'vitest'
import { startApi } from '../support/api.ts'
import type { Task, TaskPage } from '../support/client.ts'
import { givenCaller, smallImage, useApi } from './given.ts'

const world = useApi({ LEGACY_SUNSET: '2027-07-01' })
const successor = () => `${world.api.url}/api/v1/open/developer/tasks`

async function ask(path: string, apiKey: string | undefined, init: RequestInit = {}) {
  const response = await fetch(`${world.api.url}${path}`, {
    ...init,
    headers: { ...(apiKey && { 'x-api-key': apiKey }), 'content-type': 'application/json', ...init.headers },
  })
  return { response, body: (await response.json()) as { data: unknown; error?: { code: string; details: object } } }
}

function expectDeprecated(response: Response, link: string) {
  expect(response.headers.get('deprecation')).toBe('@1752710400')
  expect(response.headers.get('sunset')).toBe('Thu, 01 Jul 2027 00:00:00 GMT')
  expect(response.headers.get('link')?.split(', ')[0]).toBe(`<${link}>; rel="successor-version"`)
}

describe('the deprecated paths', () => {
  it('create, read, list and cancel like their replacements, and name them', async () => {
    const { client, apiKey } = await world.caller()
    const imageUrl = await client.upload(await smallImage())
    const created = await ask('/v1/tasks', apiKey, { method: 'POST', body: JSON.stringify({ imageUrl }) })
    expect(created.response.status).toBe(201)
    expectDeprecated(created.response, successor())
    const task = created.body.data as Task
    expect(task).toMatchObject({ status: 'queued', creditCost: 1 })
    const read = await ask(`/v1/tasks/${task.id}`, apiKey)
    expectDeprecated(read.response, `${successor()}/${task.id}`)
    expect(read.body.data).toEqual(await client.getTask(task.id))
    const listed = await ask('/v1/tasks?pageSize=5&colour=red', apiKey)
    expectDeprecated(listed.response, successor())
    expect(listed.response.headers.get('x-ignored-fields')).toBe('colour')
    expect((listed.body.data as TaskPage).items.map(({ id }) => id)).toEqual([task.id])
    const canceled = await ask(`/v1/tasks/${task.id}`, apiKey, { method: 'DELETE' })
    expectDeprecated(canceled.response, `${successor()}/${task.id}`)
    expect(canceled.body.data).toMatchObject({ id: task.id, status: 'canceled' })
  })

  it('name them in errors too', async () => {
    const { apiKey } = await world.caller()
    const { apiKey: reader } = await world.caller({ scopes: ['tasks:read'] })
    for (const [path, key, method, code] of [
      ['/v1/tasks', undefined, 'GET', 'API_KEY_MISSING'],
      ['/v1/tasks', 'nonsense', 'GET', 'API_KEY_INVALID'],
      ['/v1/tasks', reader, 'POST', 'API_KEY_INSUFFICIENT_SCOPE'],
      ['/v1/tasks', apiKey, 'POST', 'INVALID_PARAMS'],
      ['/v1/tasks?page=0', apiKey, 'GET', 'INVALID_PARAMS'],
      ['/v1/tasks/x%3E', apiKey, 'GET', 'DEVELOPER_TASK_NOT_FOUND'],
      ['/v1/tasks/x%3E', apiKey, 'DELETE', 'DEVELOPER_TASK_NOT_FOUND'],
    ] as const) {
      const { response, body } = await ask(path, key, { method, ...(method === 'POST' && { body: '{}' }) })
      expect(body.error?.code, `${method} ${path}`).toBe(code)
      expectDeprecated(response, path.includes('x%3E') ? `${successor()}/x%3E` : successor())
    }
  })

  it('are exactly four', async () => {
    const { apiKey } = await world.caller()
    const id = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'
    for (const [method, path] of [
      ['POST', `/v1/tasks/${id}/retry`],
      ['POST', '/v1/batch-tasks'],
      ['GET', '/v1/webhooks'],
      ['PUT', '/v1/tasks'],
      ['GET', '/v1'],
    ] as const) {
      const { response, body } = await ask(path, apiKey, { method })
      expect([response.status, body.error?.code], `${method} ${path}`).toEqual([404, 'NOT_FOUND'])
    }
  })

  it('are deprecated in the document', async () => {
    const { body } = await ask('/api/v1/openapi.json', undefined)
    const { paths } = body as unknown as { paths: Record<string, Record<string, { deprecated?: boolean }>> }
    const deprecated = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { deprecated }]) => (deprecated ? [`${method} ${path}`] : [])),
    )
    expect(deprecated.sort()).toEqual([
      'delete /v1/tasks/{taskId}',
      'get /v1/tasks',
      'get /v1/tasks/{taskId}',
      'post /v1/tasks',
    ])
  })

  it('can be switched off, and have a sunset only if configured', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, LEGACY_ENABLED: 'false' })
    try {
      const { apiKey } = await givenCaller(world.db, api)
      const off = await fetch(`${api.url}/v1/tasks`, { headers: { 'x-api-key': apiKey } })
      expect([off.status, off.headers.get('deprecation')]).toEqual([404, null])
      expect(off.headers.get('allow')).toBeNull()
    } finally {
      await api.stop()
    }
    const unset = await startApi({ DATABASE_URL: world.databaseUrl })
    try {
      const response = await fetch(`${unset.url}/v1/tasks`)
      expect([response.headers.get('deprecation'), response.headers.get('sunset')]).toEqual(['@1752710400', null])
    } finally {
      await unset.stop()
    }
  })
})
