// Uploads, tasks, batches, webhooks, keys to look at and usage are one code with two fronts: the Developer API and the
// App API differ in paths, in who may call, in how they are documented, and in the codes of some errors.
import type { MatteCode } from '@matte/core/error'
import { roles } from '@matte/core/workspace/role'
import type { TSchema } from 'typebox'
import type { Access } from '../../access.ts'
import { publicCode } from '../../errors/public-code.ts'
import { memberResponses, responses } from '../../schemas/schema.ts'

type Tagged = 'uploads' | 'tasks' | 'batches' | 'webhooks' | 'apiKeys' | 'usage'
type Accessed = 'upload' | `${'read' | 'write'}${'Tasks' | 'Batches' | 'Webhooks'}` | 'readApiKeys' | 'readUsage'

export type Front = {
  readonly paths: { readonly tasks: string; readonly batches: string }
  readonly access: Readonly<Record<Accessed, Access>>
  readonly tags: Readonly<Record<Tagged, string[]>>
  /** The operationId of an operation, which is unique over both surfaces. */
  readonly operationId: (name: string) => string
  /** Whoever made a task or a batch is told of its end. */
  readonly notifyMaker: boolean
  /** Answers have the maker of a webhook endpoint. */
  readonly showMakers: boolean
  /** The responses of a route, its errors with the codes of this surface. */
  readonly responses: <S extends TSchema>(
    status: 200 | 201,
    data: S,
    codes: readonly MatteCode[],
  ) => ReturnType<typeof responses<S>>
}

export const developerFront: Front = {
  paths: { tasks: '/tasks', batches: '/batch-tasks' },
  access: {
    upload: { scope: 'uploads:write' },
    readTasks: { scope: 'tasks:read' },
    writeTasks: { scope: 'tasks:write' },
    readBatches: { scope: 'batches:read' },
    writeBatches: { scope: 'batches:write' },
    readWebhooks: { scope: 'webhooks:read' },
    writeWebhooks: { scope: 'webhooks:write' },
    readApiKeys: { scope: 'api-keys:read' },
    readUsage: { scope: 'usage:read' },
  },
  tags: {
    uploads: ['Uploads'],
    tasks: ['Tasks'],
    batches: ['Batches'],
    webhooks: ['Webhooks'],
    apiKeys: ['API keys'],
    usage: ['Usage'],
  },
  operationId: (name) => name,
  notifyMaker: false,
  showMakers: false,
  responses: (status, data, codes) =>
    responses(
      status,
      data,
      codes.map((code) => publicCode(code, 'developer')),
    ),
}

const read = { roles }
const write = { roles: ['owner', 'admin', 'member'] } as const

/** Owner and admin look after what talks to the workspace. */
export const centre = { access: { roles: ['owner', 'admin'] } } as const
export const centreTags = ['Developer centre']
const images = ['Images']

export const appFront: Front = {
  paths: { tasks: '/images', batches: '/batch' },
  access: {
    ...{ upload: read, readTasks: read, writeTasks: write, readBatches: read, writeBatches: write },
    ...{ readWebhooks: centre.access, writeWebhooks: centre.access },
    ...{ readApiKeys: centre.access, readUsage: centre.access },
  },
  tags: {
    ...{ uploads: images, tasks: images, batches: images },
    ...{ webhooks: centreTags, apiKeys: centreTags, usage: centreTags },
  },
  operationId: (name) => `app${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  notifyMaker: true,
  showMakers: true,
  responses: (status, data, codes) =>
    memberResponses(
      status,
      data,
      codes.map((code) => publicCode(code, 'app')),
    ),
}
