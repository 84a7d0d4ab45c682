import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { useApi } from './given.ts'

const world = useApi({ CORS_ALLOWED_ORIGINS: 'https://app.example.com' })

const base = () => `${world.api.url}/api/v1/open/developer`

type Body = { request_id: string; error?: { code: string; details: { issues?: { path: string; message: string }[] } } }

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(path.startsWith('http') ? path : `${base()}${path}`, init)
  return { response, body: (await response.json()) as Body }
}

describe('the request id', () => {
  it('is the same in body and header, for successes and errors', async () => {
    const { client } = await world.caller()
    const success = await client.call('GET', '/tasks')
    expect(success.headers.get('x-request-id')).toBe(success.requestId)
    const { response, body } = await ask('/tasks')
    expect(body.error?.code).toBe('API_KEY_MISSING')
    expect(response.headers.get('x-request-id')).toBe(body.request_id)
  })

  it.each(['my-id', 'a', 'with space & signs ~', 'x'.repeat(128)])('%j from the caller is adopted', async (id) => {
    const { body } = await ask('/tasks', { headers: { 'x-request-id': id } })
    expect(body.request_id).toBe(id)
  })

  it.each(['', 'x'.repeat(129), 'umläut', 'tab\there'])('%j from the caller is replaced', async (id) => {
    const { body } = await ask('/tasks', { headers: { 'x-request-id': id } })
    expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a body that is no JSON object', () => {
  const post = async (body: string, headers: Record<string, string>) => {
    const { apiKey } = await world.caller()
    return ask('/uploads/presign', { method: 'POST', body, headers: { 'x-api-key': apiKey, ...headers } })
  }
  const json = { 'content-type': 'application/json' }

  it.each([
    ['malformed JSON', '{"fileName":', json, '/body'],
    ['nothing', '', json, '/body'],
    ['a list', '[]', json, '/body'],
    ['a text', '"x"', json, '/body'],
    ['null', 'null', json, '/body'],
    ['a prototype', '{"__proto__":{"a":1}}', json, '/body'],
    ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }, '/headers/content-type'],
    ['plain text', '{}', { 'content-type': 'text/plain' }, '/headers/content-type'],
    ['a content type that is none', '{}', { 'content-type': 'json' }, '/headers/content-type'],
    ['more than 1 MiB', `{"fileName":"${'x'.repeat(1_048_576)}"}`, json, '/body'],
  ])('%s is INVALID_PARAMS', async (_what, body, headers, path) => {
    const answer = await post(body, headers as Record<string, string>)
    expect(answer.response.status).toBe(400)
    expect(answer.body.error).toMatchObject({ code: 'INVALID_PARAMS', details: { issues: [{ path }] } })
  })

  it.each(['application/json; charset=utf-8', 'application/json;profile="x"', 'Application/JSON'])(
    'is accepted as %s',
    async (type) => {
      const answer = await post('{"fileName":"a.png","contentType":"image/png"}', { 'content-type': type })
      expect(answer.response.status).toBe(200)
    },
  )
})

describe('fields', () => {
  it('produce an error with a JSON pointer each', async () => {
    const { client } = await world.caller()
    const call = client.call('POST', '/uploads/presign', { body: { contentType: 5, fileSize: 'big' } })
    const error = await call.catch((fault: { details: { issues: { path: string }[] } }) => fault)
    expect(error).toMatchObject({ code: 'INVALID_PARAMS' })
    const { issues } = (error as { details: { issues: { path: string }[] } }).details
    expect(issues.map(({ path }) => path).sort()).toEqual(['/body/contentType', '/body/fileName', '/body/fileSize'])
  })

  const grant = { fileName: 'a.png', contentType: 'image/png' }

  it('that are unknown are listed when they are ignored', async () => {
    const { client } = await world.caller()
    const body = { ...grant, colour: 'red', 'née\r\nX-Evil: 1': true }
    const lenient = { prefer: 'handling=lenient' }
    const { status, headers } = await client.call('POST', '/uploads/presign?a=1', { body, headers: lenient })
    expect(status).toBe(200)
    expect(headers.get('x-ignored-fields')).toBe('a, colour, n%C3%A9e%0D%0AX-Evil%3A%201')
    expect(headers.get('x-evil')).toBeNull()
  })

  it('that are unknown are rejected with strict handling', async () => {
    const { client } = await world.caller()
    const headers = { prefer: 'wait=5, handling=strict' }
    await expect(client.call('GET', '/tasks?pageSze=5&toString=1', { headers })).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/query/pageSze' }, { path: '/query/toString' }] },
    })
    const { headers: applied } = await client.call('GET', '/tasks?pageSize=5', { headers })
    expect(applied.get('preference-applied')).toBe('handling=strict')
    expect(applied.get('x-ignored-fields')).toBeNull()
  })

  it('that are optional may be null', async () => {
    const { client } = await world.caller()
    const { headers } = await client.call('POST', '/uploads/presign', { body: { ...grant, fileSize: null } })
    expect(headers.get('x-ignored-fields')).toBeNull()
    await expect(client.presign({ ...grant, fileName: null })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('of a body are never coerced', async () => {
    const { client } = await world.caller()
    await expect(client.presign({ ...grant, fileSize: '12' })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/body/fileSize' }] },
    })
  })
})

describe('a path', () => {
  it.each(['/api/v1/nothing', '/', '/api/v1/open/developer', '/metrics', '/matte'])(
    '%s that does not exist is NOT_FOUND',
    async (path) => {
      const { response, body } = await ask(`${world.api.url}${path}`)
      expect([response.status, body.error?.code]).toEqual([404, 'NOT_FOUND'])
      expect(response.headers.get('allow')).toBeNull()
    },
  )

  it.each([
    ['PATCH', '/tasks', 'GET, HEAD, POST'],
    ['POST', '/tasks/some-id', 'DELETE, GET, HEAD'],
    ['GET', '/uploads/presign', 'POST'],
  ])('%s %s with an unsupported method is NOT_FOUND with Allow', async (method, path, allow) => {
    const { response, body } = await ask(path, { method, body: method === 'GET' ? null : '{malformed' })
    expect([response.status, body.error?.code, response.headers.get('allow')]).toEqual([404, 'NOT_FOUND', allow])
  })

  it('with a broken escape is NOT_FOUND too', async () => {
    const { response, body } = await ask('/tasks/%zz')
    expect([response.status, body.error?.code]).toEqual([404, 'NOT_FOUND'])
    expect(body.request_id).toBe(response.headers.get('x-request-id'))
  })

  it('without a declared body ignores body and content type', async () => {
    const { apiKey } = await world.caller()
    for (const headers of [{ 'content-type': 'application/json' }, { 'content-type': 'nonsense' }]) {
      const init = { method: 'DELETE', body: '{malformed', headers: { 'x-api-key': apiKey, ...headers } }
      expect((await ask('/tasks/0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1', init)).response.status).toBe(404)
      const empty = { method: 'DELETE', headers: { 'x-api-key': apiKey, ...headers } }
      expect((await ask('/tasks/0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1', empty)).body.error?.code).toBe(
        'DEVELOPER_TASK_NOT_FOUND',
      )
    }
  })
})

describe('a request that Node cannot parse', () => {
  it.each([
    ['a broken request line', 'NONSENSE\r\n\r\n', ''],
    ['headers past 16 KiB', `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, '/headers'],
  ])('%s gets an error in the envelope', async (_what, text, path) => {
    const answer = await rawRequest(Number(new URL(world.api.url).port), text)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const { request_id, error } = JSON.parse(body) as Body
    expect(head).toContain(`X-Request-Id: ${request_id}`)
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', details: { issues: [{ path }] } })
  })
})

describe('a response', () => {
  it('forbids caching and sniffing', async () => {
    const { client } = await world.caller()
    const { headers } = await client.call('GET', '/tasks')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('is readable for pages of the allowed origins and no others', async () => {
    const origin = 'https://app.example.com'
    const { response } = await ask('/tasks', { headers: { origin } })
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('access-control-expose-headers')).toContain('X-Request-Id')
    const other = await ask('/tasks', { headers: { origin: 'https://evil.example.com' } })
    expect(other.response.headers.get('access-control-allow-origin')).toBeNull()
    expect(other.response.headers.get('vary')).toContain('Origin')
  })

  it('to a preflight allows browsers to send the key', async () => {
    const headers = {
      origin: 'https://app.example.com',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-api-key,content-type',
    }
    const response = await fetch(`${base()}/tasks`, { method: 'OPTIONS', headers })
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-headers')).toBe('x-api-key,content-type')
    expect(response.headers.get('access-control-allow-methods')).toContain('POST')
  })
})

function rawRequest(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
