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

/** Operations that create a resource with an id (D30). */
const creations = [
  ...['POST /app/developer/api-keys', 'POST /app/developer/api-keys/{apiKeyId}/roll', 'POST /app/developer/webhooks'],
  ...['POST /app/payments/orders', 'POST /app/payments/refunds', 'POST /app/referral/invitations'],
  ...['POST /app/tasks/batch', 'POST /app/tasks/images', 'POST /app/teams', 'POST /app/teams/{teamId}/invites'],
  ...['POST /open/developer/batch-tasks', 'POST /open/developer/tasks', 'POST /open/developer/webhooks'],
  'POST /v1/tasks',
]

it('the document declares 201 for operations that create a resource with an id, and 200 otherwise', async () => {
  type Operation = { readonly responses: Readonly<Record<string, unknown>> }
  const { paths } = (await buildDocument()) as { paths: Record<string, Record<string, Operation>> }
  const successes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      route: `${method.toUpperCase()} ${path.replace('/api/v1/', '/')}`,
      statuses: Object.keys(responses).filter((status) => status.startsWith('2')),
    })),
  )
  const created = successes.filter(({ statuses }) => statuses.includes('201'))
  expect(created.map(({ route }) => route).sort()).toEqual([...creations].sort())
  // A cut-out in one call answers 202 with the task when its wait ends first.
  const others = successes.filter(({ route }) => route !== 'POST /open/developer/cut-outs')
  for (const { route, statuses } of others) expect(statuses, route).toHaveLength(1)
})
