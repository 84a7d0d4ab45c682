import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { requireDeclaredAccess } from './check-access.ts'

const documented = { operationId: 'getSecret' }
const withRoute = async (config: Record<string, unknown>, schema: Record<string, unknown> = documented) => {
  const app = fastify()
  requireDeclaredAccess(app)
  app.get('/secret', { config, schema }, async () => 'x')
  await app.ready()
}

describe('a route', () => {
  it('without declared access fails at start-up, and the error names it', async () => {
    await expect(withRoute({})).rejects.toThrow('GET /secret must declare its access')
  })

  it('that needs a credential must be documented with an operationId', async () => {
    await expect(withRoute({ access: { scope: 'tasks:read' } }, {})).rejects.toThrow('GET /secret')
    await expect(withRoute({ access: { scope: 'tasks:read' } }, { ...documented, hide: true })).rejects.toThrow(
      'documented',
    )
    await expect(withRoute({ access: 'public' }, { hide: true })).resolves.toBeUndefined()
  })

  it('with access declared starts', async () => {
    await expect(withRoute({ access: { scope: 'tasks:read' } })).resolves.toBeUndefined()
    await expect(withRoute({ access: 'public' })).resolves.toBeUndefined()
  })
})
