import { describe, expect, it } from 'vitest'
import { createJudge } from './declared-answers.ts'

const error = (codes: readonly string[]) => ({
  description: codes.join(', '),
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['error'],
        properties: { error: { properties: { code: { enum: codes } } } },
      },
    },
  },
})

const judge = createJudge({
  paths: {
    '/tasks/{taskId}': {
      get: {
        operationId: 'getTask',
        responses: {
          200: {
            description: 'Fine.',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Task' } } },
          },
          404: { $ref: '#/components/responses/NOT_FOUND' },
        },
      },
    },
    '/tasks/counts': { get: { operationId: 'countTasks', responses: { 200: { description: 'Fine.' } } } },
  },
  components: {
    schemas: { Task: { type: 'object', required: ['id'], properties: { id: { type: 'string', format: 'uuid' } } } },
    responses: { NOT_FOUND: error(['NOT_FOUND']) },
  },
})

const ask = (status: number, body: object | undefined, url = '/tasks/1?a=b') =>
  judge({ method: 'GET', url, status, body: body && JSON.stringify(body) })
const id = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'

describe('a response', () => {
  it('passes when the operation declares it', () => {
    expect(ask(200, { id })).toBeUndefined()
    expect(ask(404, { error: { code: 'NOT_FOUND' } })).toBeUndefined()
  })

  it('is reported with another status, code or body', () => {
    expect(ask(409, { error: { code: 'CONFLICT' } })).toBe('getTask answered 409 CONFLICT: the status is not declared')
    expect(ask(404, { error: { code: 'TASK_NOT_FOUND' } })).toContain('getTask answered 404 TASK_NOT_FOUND: ')
    expect(ask(200, { id: 'x' })).toContain('format "uuid"')
  })

  it('is checked against the operation that the router would choose', () => {
    expect(ask(404, {}, '/tasks/counts')).toContain('countTasks answered 404')
    expect(ask(500, {}, '/elsewhere')).toBeUndefined()
    expect(ask(404, { error: { code: 'OTHER' } }, '/tasks/%zz')).toBeUndefined()
  })
})
