import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { Matte } from '../matte.ts'
import { type Breaks, png, sendError, sendJson, startService } from '../service.fixtures.ts'

/** No jitter, so retries take no time. */
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => void vi.restoreAllMocks())

async function given(breaks: Breaks) {
  const service = await startService(breaks)
  onTestFinished(() => service[Symbol.asyncDispose]())
  return service
}

/** Refuses the first requests of a path. */
const refusing =
  (path: string, times: number, status: number, code: string, headers = {}): Breaks =>
  ({ seen, response, count }) => {
    if (!seen.path.endsWith(path) || count > times) return false
    sendError(response, status, code, headers)
    return true
  }

it.each([
  [429, 'RATE_LIMIT_EXCEEDED'],
  [500, 'SYSTEM_INTERNAL_ERROR'],
  [503, 'TASK_MAINTENANCE'],
])('repeats a creation that is answered %s with the same key and body', async (status, code) => {
  const service = await given(refusing('/tasks', 2, status, code))
  await service.matte().tasks.create({ imageUrl: 'private-uploads/1' })
  expect(service.requests).toHaveLength(3)
  const sent = service.requests.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`)
  expect(new Set(sent).size).toBe(1)
})

it('repeats a creation whose connection breaks, and makes one task', async () => {
  const service = await given(({ seen, response, count }) => {
    if (seen.method !== 'POST' || count > 1) return false
    response.socket?.destroy()
    return true
  })
  await service.matte().tasks.create({ imageUrl: 'private-uploads/1' })
  expect(service.tasks.size).toBe(1)
})

it('repeats a creation that is still in progress by the same key', async () => {
  const service = await given(refusing('/tasks', 1, 409, 'CONFLICT', { 'retry-after': '0' }))
  await service.matte().tasks.create({ imageUrl: 'private-uploads/1' })
  expect(service.requests).toHaveLength(2)
})

it.each([
  [400, 'INVALID_PARAMS', false],
  [401, 'API_KEY_INVALID', false],
  [409, 'CONFLICT', false],
  [429, 'DEVELOPER_API_QUOTA_EXCEEDED', false],
])('does not repeat %s %s', async (status, code, retryable) => {
  const service = await given(refusing('/tasks', 9, status, code))
  const creating = service.matte().tasks.create({ imageUrl: 'private-uploads/1' })
  await expect(creating).rejects.toMatchObject({ status, code, retryable, requestId: 'req-9' })
  expect(service.requests).toHaveLength(1)
})

it('names the parameters that the service rejects in the message', async () => {
  const issues = [{ path: '/body/output/background', message: 'must be #rrggbb' }]
  const service = await given(({ response }) => {
    const message = 'The request has invalid parameters; see details.issues.'
    sendJson(response, 400, { request_id: 'req-9', error: { code: 'INVALID_PARAMS', message, details: { issues } } })
    return true
  })
  await expect(service.matte().usage.get()).rejects.toMatchObject({
    message: 'The request has invalid parameters: output.background must be #rrggbb.',
    details: { issues },
  })
})

it('gives up after retriesMax', async () => {
  const service = await given(refusing('/usage', 9, 500, 'SYSTEM_INTERNAL_ERROR'))
  const reading = service.matte({ retriesMax: 2 }).usage.get()
  await expect(reading).rejects.toMatchObject({ code: 'SYSTEM_INTERNAL_ERROR', retryable: true })
  expect(service.requests).toHaveLength(3)
})

it('reports a long Retry-After at once', async () => {
  const service = await given(refusing('/usage', 9, 503, 'TASK_MAINTENANCE', { 'retry-after': '3600' }))
  await expect(service.matte().usage.get()).rejects.toMatchObject({ retryAfterMs: 3_600_000, retryable: true })
  expect(service.requests).toHaveLength(1)
})

it('does not repeat a POST without a key whose answer is lost', async () => {
  const service = await given(({ response }) => {
    response.socket?.destroy()
    return true
  })
  await expect(service.matte().webhooks.rotateSecret('1')).rejects.toMatchObject({ code: 'CLIENT_CONNECTION' })
  expect(service.requests).toHaveLength(1)
})

it('follows no redirect, so the key reaches no other host', async () => {
  const other = await given(() => false)
  const service = await given(({ seen, response }) => {
    response.writeHead(307, { location: `${other.origin}${seen.path}` }).end()
    return true
  })
  await expect(service.matte().usage.get()).rejects.toMatchObject({ code: 'CLIENT_CONFIG', status: 307 })
  expect(other.requests).toEqual([])
})

it('cuts a request that has no answer in time', async () => {
  const service = await given(() => true)
  const reading = service.matte({ timeoutMs: 50, retriesMax: 1 }).usage.get()
  await expect(reading).rejects.toMatchObject({ code: 'CLIENT_TIMEOUT', retryable: true })
  expect(service.requests).toHaveLength(2)
})

it('names the host of a failed connection, and nothing of the key', async () => {
  const matte = new Matte({ apiKey: 'service_live_secret', baseUrl: 'http://127.0.0.1:1/api/v1', retriesMax: 0 })
  const error = await matte.usage.get().catch((cause) => cause)
  expect(error).toMatchObject({ code: 'CLIENT_CONNECTION', message: expect.stringContaining('127.0.0.1:1') })
  expect(JSON.stringify(error) + error.stack).not.toContain('secret')
})

it.each([
  [200, 'CLIENT_CONFIG', 1],
  [404, 'CLIENT_CONFIG', 1],
  [502, 'CLIENT_CONNECTION', 2],
])('tells a page of HTML with status %s from an answer', async (status, code, requests) => {
  const service = await given(({ response }) => {
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html>')
    return true
  })
  await expect(service.matte({ retriesMax: 1 }).usage.get()).rejects.toMatchObject({ code, status })
  expect(service.requests).toHaveLength(requests)
})

it('repeats a read whose answer is cut', async () => {
  const service = await given(({ response, count }) => {
    response.writeHead(200, { 'content-length': 20 }).end(count === 1 ? '{"data"' : '{"data":{"total":1}}')
    if (count === 1) response.socket?.end()
    return true
  })
  expect(await service.matte().usage.get()).toEqual({ total: 1 })
})

it('fills the path and the query, and refuses an empty id', async () => {
  const service = await given(({ response }) => {
    sendJson(response, 200, { data: {} })
    return true
  })
  const path = { taskId: 'a/b' }
  await service.matte().request('GET', '/open/developer/tasks/{taskId}', { path })
  await service.matte().tasks.list({ status: 'failed', pageSize: 5 }).page()
  expect(service.paths('GET')[0]).toBe('/api/v1/open/developer/tasks/a%2Fb')
  await expect(service.matte().tasks.cancel('')).rejects.toMatchObject({ code: 'CLIENT_INPUT' })
  expect(service.paths('DELETE')).toEqual([])
})

it('erases the images of a task, and says so when they are asked for', async () => {
  const service = await given(({ seen, response }) => {
    if (!seen.path.endsWith('/images')) return false
    const [task] = service.tasks.values()
    sendJson(response, 200, {
      data: Object.assign(task ?? {}, { resultUrl: null, erasedAt: '2026-11-24T09:00:00.000Z' }),
    })
    return true
  })
  const matte = service.matte()
  const { objectKey } = await matte.uploads.put(png)
  const { id } = await matte.tasks.create({ imageUrl: objectKey, retention: 600 })
  expect(await matte.tasks.eraseImages(id)).toMatchObject({ id, resultUrl: null })
  expect(service.paths('DELETE')).toEqual([`/api/v1/open/developer/tasks/${id}/images`])
  await expect(matte.tasks.download(id)).rejects.toMatchObject({
    code: 'CLIENT_INPUT',
    message: expect.stringContaining('erased'),
  })
})

it('returns a task whose cancellation succeeded with a lost answer', async () => {
  const service = await given(({ seen, response, count }) => {
    if (seen.method !== 'DELETE' || count > 1) return false
    Object.assign([...service.tasks.values()][0] ?? {}, { status: 'canceled' })
    response.socket?.destroy()
    return true
  })
  service.settings.status = 'queued'
  const matte = service.matte()
  const { objectKey } = await matte.uploads.put(png)
  const { id } = await matte.tasks.create({ imageUrl: objectKey })
  expect(await matte.tasks.cancel(id)).toMatchObject({ id, status: 'canceled' })
})

it.each([
  [{ baseUrl: 'http://x/api/v1' }, /MATTE_API_KEY/],
  [{ apiKey: 'k' }, /MATTE_BASE_URL/],
  [{ apiKey: 'k', baseUrl: 'localhost:8080/api/v1' }, /http or https/],
  [{ apiKey: 'k', baseUrl: 'http://user:word@x/api/v1' }, /without user/],
  [{ apiKey: 'k', baseUrl: 'http://x' }, /\/api\/v1/],
  [{ apiKey: 'kéy', baseUrl: 'http://x/api/v1' }, /characters/],
  [{ apiKey: 'k', baseUrl: 'http://x/api/v1', retriesMax: -1 }, /retriesMax/],
  [{ apiKey: 'k', baseUrl: 'http://x/api/v1', timeoutMs: Number.NaN }, /timeoutMs/],
])('refuses the options %j', (options, message) => {
  expect(() => new Matte({ apiKey: '', ...options })).toThrow(message)
})
