import { expect, it } from 'vitest'
import { findMissingExamples } from './missing-examples.ts'

const json = (media: object) => ({ content: { 'application/json': media } })

it('an example that is missing, or a placeholder at any depth, is named with its operation', () => {
  const get = {
    operationId: 'getTask',
    parameters: [{ name: 'taskId', example: 'a' }, { name: 'Prefer', example: 'text' }, { name: 'page' }],
    requestBody: json({ example: { name: 'a' } }),
    responses: {
      200: json({ example: { data: { items: [{ id: 'text' }] } } }),
      201: json({ example: { data: null } }),
      404: json({ examples: { NOT_FOUND: {} } }),
      500: json({}),
    },
  }
  const found = ['Prefer', 'page', '200', '500'].map((name) => `getTask ${name}`)
  expect(findMissingExamples({ paths: { '/': { get } }, components: { schemas: {} } })).toEqual(found)
})

it('a response shows the example of its named schema, and is missing one if the schema has none', () => {
  const envelope = (name: string) => ({ properties: { data: { $ref: `#/components/schemas/${name}` } } })
  const body = (name: string) => json({ schema: { type: 'object', required: ['data'], ...envelope(name) } })
  const schemas = {
    Shown: { type: 'object', examples: [{ id: 'a' }] },
    Derived: { allOf: [{ $ref: '#/components/schemas/Shown' }, { type: 'object' }] },
    Bare: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
  }
  const get = { operationId: 'getTask', responses: { 200: body('Shown'), 201: body('Derived'), 202: body('Bare') } }
  expect(findMissingExamples({ paths: { '/': { get } }, components: { schemas } })).toEqual(['getTask 202'])
})
