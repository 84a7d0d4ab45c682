// What this folder has is the same on both surfaces of the interface; a front says what differs: who may call, and how
// it is documented.

import { roles } from '@matte/core/workspace/role'
import type { Access } from '../../access.ts'
import { memberResponses, responses } from '../../schemas/schema.ts'

type Config = { readonly access: Access }

export type Front = {
  readonly readWebhooks: Config
  readonly writeWebhooks: Config
  readonly readKeys: Config
  readonly readUsage: Config
  readonly readModels: Config
  readonly tags: (tag: 'Webhooks' | 'API keys' | 'Usage' | 'Models') => string[]
  readonly responses: typeof responses
  /** The operationId of an operation, which is unique over both surfaces. */
  readonly name: (operation: string) => string
}

export const developerFront: Front = {
  readWebhooks: { access: { scope: 'webhooks:read' } },
  writeWebhooks: { access: { scope: 'webhooks:write' } },
  readKeys: { access: { scope: 'api-keys:read' } },
  readUsage: { access: { scope: 'usage:read' } },
  readModels: { access: { scope: 'tasks:read' } },
  tags: (tag) => [tag],
  responses,
  name: (operation) => operation,
}

/** Owner and admin look after what talks to the workspace. */
export const centre = { access: { roles: ['owner', 'admin'] } } as const
export const centreTags = ['Developer centre']

export const appFront: Front = {
  readWebhooks: centre,
  writeWebhooks: centre,
  readKeys: centre,
  readUsage: centre,
  // Whoever makes tasks chooses among them.
  readModels: { access: { roles } },
  tags: () => centreTags,
  responses: memberResponses,
  name: (operation) => `app${operation.charAt(0).toUpperCase()}${operation.slice(1)}`,
}
