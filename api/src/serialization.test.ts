import { fastify } from 'fastify'
import { expect, it } from 'vitest'
import { serializersOnDemand } from './serialization.ts'

it('serializes each response by its schema, even if two schemas differ only in their description', async () => {
  await using app = fastify({ schemaController: { compilersFactory: { buildSerializer: serializersOnDemand } } })
  app.addSchema({ $id: 'Name', type: 'object', properties: { name: { type: 'string' } } })
  const answer = (properties: object, description = '') => ({
    response: { 200: { type: 'object', description, properties } },
  })
  const of = { $ref: 'Name#' }
  const value = { of: { name: 'a', secret: 1 }, count: '2', secret: 1 }
  app.get('/one', { schema: answer({ of }, 'One.') }, async () => value)
  app.get('/two', { schema: answer({ of }, 'Two.') }, async () => value)
  app.get('/count', { schema: answer({ count: { type: 'integer' } }) }, async () => value)
  const read = async (url: string): Promise<string> => (await app.inject({ url })).body
  expect(await read('/one')).toBe('{"of":{"name":"a"}}')
  expect(await read('/two')).toBe('{"of":{"name":"a"}}')
  expect(await read('/count')).toBe('{"count":2}')
})
