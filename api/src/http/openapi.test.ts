import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { errorSchema, refer, responses, success } from '../schemas/schema.ts'
import { taskSchema } from '../schemas/task.ts'
import { documentRoutes } from './openapi.ts'

async function givenRoute(description: string) {
  const app = fastify()
  await documentRoutes(app, { publicUrl: 'https://matte.example', accountsEnabled: true })
  const response = responses(200, success('Fine.', taskSchema), [])
  app.get(
    '/',
    { schema: { operationId: 'get', response: { ...response, 404: { description, ...refer(errorSchema) } } } },
    async () => ({}),
  )
  return app
}

describe('the OpenAPI document', () => {
  it('is generated at start-up: an invalid one stops the start', async () => {
    const app = await givenRoute('NO_SUCH_CODE')
    await expect(app.ready().then(() => 'started')).rejects.toThrow('NO_SUCH_CODE')
  })

  it('does not stop the start if it is valid', async () => {
    const app = await givenRoute('NOT_FOUND')
    await expect(app.ready().then(() => 'started')).resolves.toBe('started')
  })
})
