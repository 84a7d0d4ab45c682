// The TypeScript client has a method for each operation of the Developer API. tests/test_every_operation.py asserts the
// same of the Python client.
import { Matte } from 'matte-client'
import { expect, it } from 'vitest'
import { listDeveloperOperations } from './operations.ts'

/** Operations without a method, and how a program calls them instead. */
const withoutMethod = {
  streamWebhooks: 'It never ends: `matte webhooks listen` reads it.',
}

/** Calls every method of every group with `x` for each argument. Methods may fail after their request. */
async function listRequests(): Promise<Set<string>> {
  const sent = new Set<string>()
  const fetch: typeof globalThis.fetch = async (input, init) => {
    sent.add(`${init?.method} ${new URL(String(input)).pathname.replace('/api/v1', '')}`)
    return Response.json({ data: { items: [], nextCursor: null } })
  }
  const matte = new Matte({ apiKey: 'key', baseUrl: 'http://matte.test/api/v1', fetch, retriesMax: 0 })
  for (const group of Object.values<object>({ ...matte })) {
    for (const method of Object.values(group)) {
      await callWithX(method).catch(() => undefined)
    }
  }
  await matte.tasks.cutOut(image).catch(() => undefined)
  return sent
}

/** The first bytes of a PNG: the only method whose request has an image. */
const image = new Uint8Array([0x89, 0x50, 0x4e, 0x47])

async function callWithX(method: (...args: readonly string[]) => unknown): Promise<void> {
  const result = await (method('x', 'x') as Promise<{ page?: () => Promise<unknown> } | undefined>)
  await result?.page?.()
}

it('has a method for each operation of the Developer API, and none for others', async () => {
  const operations = Object.entries(await listDeveloperOperations())
  const called = operations.filter(([id]) => !Object.hasOwn(withoutMethod, id))
  const wanted = called.map(([, operation]) => operation.replace(/\{\w+\}/g, 'x'))
  expect([...(await listRequests())].sort()).toEqual(wanted.sort())
  expect(operations.map(([id]) => id)).toEqual(expect.arrayContaining(Object.keys(withoutMethod)))
})
