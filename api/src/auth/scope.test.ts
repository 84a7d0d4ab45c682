import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { requireDeclaredAccess } from './scope.ts'

const documented = { operationId: 'getSecret' }
const withRoute = async (config: Record<string, unknown>, schema: Record<string, unknown> = documented) => {
  const app = fastify()
  requireDeclaredAccess(app)
  app.get('/secret', { config, schema }, async () => 'x')
  await app.ready()
}

describe('a route', () => {
  it('without a scope or the word that it is public fails at start-up, by name', async () => {
    await expect(withRoute({})).rejects.toThrow('GET /secret must declare a scope')
    await expect(withRoute({ public: false })).rejects.toThrow('/secret')
  })

  it('cannot be both public and scoped', async () => {
    await expect(withRoute({ scope: 'tasks:read', public: true })).rejects.toThrow('/secret')
  })

  it('with a scope must be in the document, under a name', async () => {
    await expect(withRoute({ scope: 'tasks:read' }, {})).rejects.toThrow('GET /secret')
    await expect(withRoute({ scope: 'tasks:read' }, { ...documented, hide: true })).rejects.toThrow('documented')
    await expect(withRoute({ public: true }, { hide: true })).resolves.toBeUndefined()
  })

  it('with one of them starts', async () => {
    await expect(withRoute({ scope: 'tasks:read' })).resolves.toBeUndefined()
    await expect(withRoute({ public: true })).resolves.toBeUndefined()
  })
})
