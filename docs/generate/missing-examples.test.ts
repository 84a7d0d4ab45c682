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
  expect(findMissingExamples({ paths: { '/': { get } } })).toEqual(found)
})
