// Unknown fields (D2) on every POST with a JSON body; cut-outs.test.ts has the others. Operations come from the
// document, so new routes are covered.
import { beforeAll, describe, expect, it } from 'vitest'
import { givenPerson, type Person } from '../support/app/people.ts'
import type { ApiError } from '../support/client.ts'
import { type Caller, smallImage, useApi } from './given.ts'

// All requests come from one address.
const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const prefix = '/api/v1/open/developer'

type Operation = { readonly requestBody?: { readonly content: object }; readonly security?: unknown }
type Document = { readonly paths: Record<string, { readonly post?: Operation }> }

let routes: { readonly path: string; readonly readsBody: boolean; readonly readsNone: boolean }[] = []
let caller: Caller | undefined
let person: Person | undefined
beforeAll(async () => {
  const document = (await (await fetch(`${world.api.url}/api/v1/openapi.json`)).json()) as Document
  routes = Object.entries(document.paths).flatMap(([path, { post }]) =>
    // API keys open no operation of the App API.
    post?.security === undefined || path.startsWith('/api/v1/app/')
      ? []
      : [
          {
            path,
            readsBody: Object.hasOwn(post.requestBody?.content ?? {}, 'application/json'),
            readsNone: post.requestBody === undefined,
          },
        ],
  )
  caller = await world.caller({ plan: 'internal' })
  person = await givenPerson(world.db, world.api, { plan: 'internal' })
})

/** Operations without an id in the path: an unknown id is reported before the body is validated (D4). */
const bodyRoutes = () => routes.filter(({ path, readsBody }) => readsBody && !path.includes('{'))

const current = () => bodyRoutes().filter(({ path }) => path.startsWith('/api/'))
const deprecated = () => bodyRoutes().filter(({ path }) => !path.startsWith('/api/'))

/** Both kinds of credential; each route accepts its own. */
const credentials = () => ({
  'x-api-key': caller?.apiKey ?? '',
  authorization: `Bearer ${person?.accessToken}`,
})

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${world.api.url}${path}`, {
    method: 'POST',
    headers: { ...credentials(), 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const { error } = (await response.json()) as {
    error?: { code: string; details: { issues?: { path: string; message: string }[] } }
  }
  return { status: response.status, headers: response.headers, code: error?.code, issues: error?.details.issues ?? [] }
}

describe('every POST with a body', () => {
  it('exists', () => {
    const paths = bodyRoutes().map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining([`${prefix}/uploads/presign`, `${prefix}/tasks`, '/v1/tasks']))
  })

  it('refuses unknown fields by pointer, and ignores and lists unknown query parameters', async () => {
    for (const { path } of current()) {
      const { status, code, issues, headers } = await post(`${path}?speed=high`, { zebra: 1, 'a/b~c': null })
      expect([status, code], path).toEqual([400, 'INVALID_PARAMS'])
      expect(issues.slice(0, 2)).toEqual([
        { path: '/body/zebra', message: 'is not known here' },
        { path: '/body/a~1b~0c', message: 'is not known here' },
      ])
      for (const issue of issues.slice(2)) expect(issue.message, `${path} ${issue.path}`).toBe('is required')
      expect(headers.get('x-ignored-fields')).toBe('speed')
    }
  })

  it.each([
    ['with lenient handling', () => current(), { prefer: 'handling=lenient' }],
    ['of a deprecated path', () => deprecated(), {}],
  ])('%s ignores and lists both, in errors too', async (_name, chosen, headers) => {
    for (const { path } of chosen()) {
      const answer = await post(`${path}?speed=high`, { zebra: 1, 'a/b': null }, headers)
      expect(answer.headers.get('x-ignored-fields'), path).toBe('speed, zebra, a%2Fb')
      expect(answer.headers.get('preference-applied')).toBe('prefer' in headers ? headers.prefer : null)
      expect(answer.code, path).toBe('INVALID_PARAMS')
      for (const issue of answer.issues) expect(issue.message, `${path} ${issue.path}`).toBe('is required')
    }
  })

  it('rejects both by pointer with strict handling', async () => {
    for (const { path } of bodyRoutes()) {
      const { status, code, issues, headers } = await post(
        `${path}?speed=high`,
        { zebra: 1, 'a/b~c': 2 },
        { prefer: 'handling=strict' },
      )
      expect([status, code], path).toEqual([400, 'INVALID_PARAMS'])
      expect(issues.slice(0, 3).map((issue) => issue.path)).toEqual(['/query/speed', '/body/zebra', '/body/a~1b~0c'])
      expect(headers.get('preference-applied')).toBe('handling=strict')
    }
  })

  it('reports an unknown id in the path first (D4)', async () => {
    const paths = ['tasks/nope', 'batch-tasks/nope', 'webhooks/nope'].map((path) => `${prefix}/${path}`)
    for (const path of [...paths, '/v1/tasks/nope']) {
      for (const method of ['GET', 'DELETE']) {
        const response = await fetch(`${world.api.url}${path}?speed=high`, {
          method,
          headers: { 'x-api-key': caller?.apiKey ?? '', prefer: 'handling=strict' },
        })
        expect(response.status, `${method} ${path}`).toBe(404)
      }
    }
  })

  it.each(['[]', 'null', '"x"', '5', '{"a":', '', '{"__proto__":{"x":1}}'])('rejects %j as a whole', async (body) => {
    for (const { path } of bodyRoutes()) {
      const { status, code, issues } = await post(path, body)
      expect([status, code, issues.map((issue) => issue.path)], path).toEqual([400, 'INVALID_PARAMS', ['/body']])
    }
  })

  it('rejects another content type', async () => {
    for (const { path } of bodyRoutes()) {
      const { status, issues } = await post(path, '{}', { 'content-type': 'text/plain' })
      expect([status, issues], path).toEqual([
        400,
        [{ path: '/headers/content-type', message: 'must be application/json' }],
      ])
    }
  })
})

describe('a misspelled field', () => {
  it.each([
    [{ callbackURL: 'https://example.com' }, '/body/callbackURL', 'callbackUrl'],
    [{ callback_url: 'https://example.com' }, '/body/callback_url', 'callbackUrl'],
    [{ modelVersoin: 'service-v2' }, '/body/modelVersoin', 'modelVersion'],
    [{ output: { Format: 'png' } }, '/body/output/Format', 'format'],
    [{ output: { roi: { lefft: '1px' } } }, '/body/output/roi/lefft', 'left'],
  ])('%j is refused with the right name', async (fields, path, name) => {
    const answer = await post(`${prefix}/tasks`, { imageUrl: 'unknown.png', ...fields })
    expect(answer.issues[0]).toEqual({ path, message: `is not known here: did you mean ${name}?` })
  })

  it('of output is ignored with lenient handling', async () => {
    const { client } = caller ?? (await world.caller())
    const imageUrl = await client.upload(await smallImage())
    const body = { imageUrl, output: { formt: 'jpeg', roi: null } }
    const created = await client.call('POST', '/tasks', { body, headers: { prefer: 'handling=lenient' } })
    expect([created.status, created.headers.get('x-ignored-fields')]).toEqual([201, 'output.formt'])
  })
})

describe('every POST without a body', () => {
  it('ignores one', async () => {
    for (const { path } of routes.filter(({ readsNone }) => readsNone)) {
      const url = path.replace(/\{\w+\}/g, '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1')
      const { code } = await post(url, '{"a":', { 'content-type': 'text/plain' })
      expect(code, path).not.toBe('INVALID_PARAMS')
    }
  })
})

describe('null', () => {
  it('for an optional field means absent, at the top and inside output', async () => {
    const { client } = caller ?? (await world.caller())
    const imageUrl = await client.upload(await smallImage())
    const body = { imageUrl, modelVersion: null, callbackUrl: null, output: { format: null, maxSide: null } }
    const { status, headers } = await client.call('POST', '/tasks', { body, headers: { prefer: 'handling=strict' } })
    expect([status, headers.get('x-ignored-fields')]).toEqual([201, null])
  })

  it('for a required field is rejected', async () => {
    const { client } = caller ?? (await world.caller())
    const error = await client.createTask({ imageUrl: null }).catch((fault: ApiError) => fault)
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/imageUrl' }] } })
  })
})
