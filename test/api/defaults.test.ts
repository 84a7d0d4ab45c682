// Documented defaults apply: a request without a value gets the same response as one that states the default.
import { buildDocument } from '@matte/generate/build-document'
import { beforeAll, describe, expect, it } from 'vitest'
import { givenPerson } from '../support/app/people.ts'
import { smallImage, useApi } from './given.ts'

type Schema = { readonly default?: unknown; readonly properties?: Readonly<Record<string, Schema>> }
type Operation = {
  readonly security?: readonly object[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

const operatorToken = 'f'.repeat(64)
const world = useApi({ OPERATOR_TOKEN: operatorToken })
const { paths } = (await buildDocument()) as { paths: Record<string, Record<string, Operation>> }

/** Lists whose path names no resource. */
const lists = Object.entries(paths).flatMap(([path, { get }]) => {
  const query = (get?.parameters ?? []).filter((each) => each.in === 'query' && each.schema.default !== undefined)
  const defaults = query.map(({ name, schema }): [string, string] => [name, String(schema.default)])
  return path.includes('{') || defaults.length === 0 ? [] : [{ path, defaults: Object.fromEntries(defaults) }]
})

let credentials: Record<string, string>
beforeAll(async () => {
  const { accessToken } = await givenPerson(world.db, world.api, { plan: 'internal' })
  const { apiKey, client } = await world.caller({ plan: 'internal' })
  const imageUrl = await client.upload(await smallImage())
  for (let i = 0; i < 21; i++) await client.createTask({ imageUrl })
  credentials = { 'x-api-key': apiKey, authorization: `Bearer ${accessToken}` }
})

async function ask(path: string, query: Record<string, string>) {
  const headers = path.startsWith('/api/v1/operator/') ? { authorization: `Bearer ${operatorToken}` } : credentials
  const response = await fetch(`${world.api.url}${path}?${new URLSearchParams(query)}`, { headers })
  const { data = {} } = (await response.json()) as { data?: { page?: number; pageSize?: number; items?: unknown[] } }
  return { status: response.status, data: JSON.parse(JSON.stringify(data, withoutSignatures)) as typeof data }
}

/** Each read signs new links. */
const withoutSignatures = (name: string, value: unknown) => (name === 'resultUrl' ? undefined : value)

describe('a list operation', () => {
  it('exists', () => expect(lists.length).toBeGreaterThan(15))

  it.each(lists)('GET $path uses its declared defaults', async ({ path, defaults }) => {
    const plain = await ask(path, {})
    expect(plain.status).toBe(200)
    expect(await ask(path, defaults)).toEqual(plain)
    if (defaults.pageSize !== undefined) {
      expect(plain.data).toMatchObject({ page: Number(defaults.page), pageSize: Number(defaults.pageSize) })
    }
  })

  it('accepts a cursor with the default page, and with no other', async () => {
    const list = '/api/v1/open/developer/tasks'
    const { data } = await ask(list, {})
    const { nextCursor = '' } = data as { nextCursor?: string }
    const rest = await ask(list, { cursor: nextCursor })
    expect(rest.data.items).toHaveLength(1)
    expect(await ask(list, { cursor: nextCursor, page: '1' })).toEqual(rest)
    expect((await ask(list, { cursor: nextCursor, page: '2' })).status).toBe(400)
  })
})

describe('a created resource', () => {
  const defaultsOf = (path: string): Record<string, unknown> => {
    const { properties = {} } = paths[path]?.post?.requestBody?.content['application/json']?.schema ?? {}
    return Object.fromEntries(
      Object.entries(properties).flatMap(([name, schema]) =>
        schema.default === undefined ? [] : [[name, schema.default]],
      ),
    )
  }

  it.each([
    ['/api/v1/open/developer/webhooks', { targetUrl: 'https://93.184.216.34/' }],
    ['/api/v1/app/developer/webhooks', { targetUrl: 'https://93.184.216.34/' }],
    ['/api/v1/app/developer/api-keys', { name: 'production' }],
  ])('of POST %s has the declared defaults', async (path, body) => {
    const response = await fetch(`${world.api.url}${path}`, {
      method: 'POST',
      headers: { ...credentials, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { data } = (await response.json()) as { data: object }
    expect(Object.keys(defaultsOf(path))).not.toEqual([])
    expect(data).toMatchObject(defaultsOf(path))
  })

  it('of a task has the declared model', async () => {
    const path = '/api/v1/open/developer/tasks'
    const { data } = await ask(path, { pageSize: '1' })
    expect(data.items?.[0]).toMatchObject(defaultsOf(path))
  })
})
