// The developer centre: what the Developer API has of webhooks and usage, and what only people may do: make, roll and
// revoke keys (D13), and rotate the secret of callbacks.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { rotateCallbackSecret } from '@matte/core/workspace/secret/callback-secret'
import { eventSchema, rotatedSigningSecretSchema, secretRotationRequest } from '../../schemas/app/developer.ts'
import { pageOf } from '../../schemas/page.ts'
import { memberResponses, refer, success } from '../../schemas/schema.ts'
import { toEventViews } from '../../views/event-view.ts'
import { toWholeList } from '../../views/whole-list.ts'
import { appSurface, type SurfaceDeps } from '../both/surface.ts'
import { centre, centreTags as tags } from '../task/front.ts'
import { keyRoutes } from './developer-keys.ts'

const rotate = {
  operationId: 'appRotateSigningSecret',
  summary: 'Give the workspace a new secret for its callbacks',
  description:
    'While the secrets overlap, `X-Service-Signature` is keyed by the one before and `webhook-signature` carries both.',
  tags,
  body: secretRotationRequest,
  response: memberResponses(200, success('The new secret.', refer(rotatedSigningSecretSchema)), []),
}
const catalog = {
  operationId: 'appListEvents',
  summary: 'List the events that webhooks can carry',
  tags,
  response: memberResponses(200, success('All events.', pageOf(refer(eventSchema))), []),
}

export const developerRoutes: FastifyPluginAsyncTypebox<SurfaceDeps> = async (app, deps) => {
  const { db, masterKeys } = deps
  await app.register(appSurface, { ...deps, prefix: '' })
  await app.register(keyRoutes, { db })

  app.post('/signing-secret/rotate', { schema: rotate, config: centre }, async ({ caller, body }) => {
    const { signingSecret, previousUntil } = await rotateCallbackSecret(db, masterKeys, {
      workspaceId: caller.workspaceId,
      overlapSeconds: body.overlapSeconds,
    })
    return { signingSecret, previousSecretExpiresAt: previousUntil?.toISOString() ?? null }
  })

  const events = toEventViews()
  app.get('/event-catalog', { schema: catalog, config: centre }, async () => toWholeList(events))
}
