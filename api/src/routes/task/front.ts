// Operations on uploads, tasks and batches are one code with two fronts: the Developer API and the App API differ in
// paths, in who may call them, and in the codes of some errors.
import type { MatteCode } from '@matte/core/error'
import { roles } from '@matte/core/workspace/role'
import type { TSchema } from 'typebox'
import type { Access } from '../../access.ts'
import { publicCode } from '../../errors/public-code.ts'
import { memberResponses, responses } from '../../schemas/schema.ts'

export type Front = {
  readonly paths: { readonly tasks: string; readonly batches: string }
  readonly access: Readonly<Record<'upload' | 'readTasks' | 'writeTasks' | 'readBatches' | 'writeBatches', Access>>
  readonly tags: Readonly<Record<'uploads' | 'tasks' | 'batches', readonly string[]>>
  readonly operationId: (name: string) => string
  /** Whoever made a task or a batch is told of its end. */
  readonly notifyMaker: boolean
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
  },
  tags: { uploads: ['Uploads'], tasks: ['Tasks'], batches: ['Batches'] },
  operationId: (name) => name,
  notifyMaker: false,
  responses: (status, data, codes) =>
    responses(
      status,
      data,
      codes.map((code) => publicCode(code, 'developer')),
    ),
}

const read = { roles }
const write = { roles: ['owner', 'admin', 'member'] } as const

export const appFront: Front = {
  paths: { tasks: '/images', batches: '/batch' },
  access: { upload: read, readTasks: read, writeTasks: write, readBatches: read, writeBatches: write },
  tags: { uploads: ['Images'], tasks: ['Images'], batches: ['Images'] },
  notifyMaker: true,
  operationId: (name) => `app${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  responses: (status, data, codes) =>
    memberResponses(
      status,
      data,
      codes.map((code) => publicCode(code, 'app')),
    ),
}
