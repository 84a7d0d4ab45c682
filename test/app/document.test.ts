import { buildDocument } from '@matte/generate/build-document'
import { expect, it } from 'vitest'
import { expectedRoutes } from './expected-routes.ts'

it('the document has the routes of the App API', async () => {
  const { paths } = (await buildDocument()) as { paths: Record<string, Record<string, unknown>> }
  const routes = Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/v1/app/'))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
  expect(routes.sort()).toEqual([...expectedRoutes].sort())
})
