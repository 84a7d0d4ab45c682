import { errorCodes, MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import { type FastifyInstance, fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createErrorHandler, toMatteError } from './error-handler.ts'
import { httpStatus } from './http-status.ts'

const failing = (error: unknown): FastifyInstance => {
  const app = fastify()
  app.setErrorHandler(createErrorHandler(() => undefined))
  app.get('/', async () => {
    throw error
  })
  return app
}

const answerTo = async (error: unknown) => {
  const answer = await failing(error).inject('/')
  const retryAfter = answer.headers['retry-after']
  return {
    status: answer.statusCode,
    body: answer.json(),
    text: answer.body,
    retryAfter: retryAfter && Number(retryAfter),
  }
}

describe('createErrorHandler', () => {
  it.each(errorCodes)('maps %s to its status, and sends Retry-After with 429 and 503 only', async (code) => {
    const { status, body, retryAfter } = await answerTo(new MatteError(code, 'words', { details: { a: 1 } }))
    expect(status).toBe(httpStatus[code])
    expect(body).toEqual({ request_id: expect.any(String), error: { code, message: 'words', details: { a: 1 } } })
    if (status !== 429 && status !== 503) return expect(retryAfter).toBeUndefined()
    expect(retryAfter).toBeGreaterThanOrEqual(1)
    expect(retryAfter).toBeLessThanOrEqual(3_600)
  })

  it('does not disclose an unexpected error', async () => {
    const secret = Object.assign(new Error('password=hunter2 at db.internal'), { details: { secret: 'hunter2' } })
    for (const error of [secret, new MatteError('SYSTEM_INTERNAL_ERROR', 'fixed words', { cause: secret })]) {
      const { status, text } = await answerTo(error)
      expect(status).toBe(500)
      expect(text).not.toMatch(/hunter2|internal'|db\.internal|\.ts/)
    }
  })

  it.each([
    ['ECONNREFUSED', 500, true],
    ['57P01', 500, true],
    ['53300', 500, true],
    ['23505', 500, false],
  ])('maps database error %s to %d, retryable: %s', async (code, status, again) => {
    const answer = await answerTo(Object.assign(new Error('x'), { code }))
    expect([answer.status, answer.retryAfter !== undefined]).toEqual([status, again])
  })

  it('limits Retry-After to between 1 s and an hour', async () => {
    const quota = (retryAfterSeconds: number) =>
      new MatteError('DEVELOPER_API_QUOTA_EXCEEDED', 'x', { retryAfterSeconds })
    expect((await answerTo(quota(86_400))).retryAfter).toBe(3_600)
    expect((await answerTo(quota(59.2))).retryAfter).toBe(60)
    expect((await answerTo(quota(-1))).retryAfter).toBe(1)
  })

  it('does not change a MatteError', () => {
    const error = invalidParam('/body/a', 'is odd')
    expect(toMatteError(error)).toBe(error)
  })
})
