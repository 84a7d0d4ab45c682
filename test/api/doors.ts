// Setup for the tests of the doors: a workspace, and requests as programs for remove.bg and rembg send them.

import { type UntilOptions, until } from '../support/until.ts'
import type { World } from './given.ts'

type File = { readonly name: string; readonly bytes: Uint8Array }

/** A multipart body. */
export function formOf(fields: Readonly<Record<string, string>>, file?: File): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  if (file) form.set(file.name, new Blob([Buffer.from(file.bytes)]), 'photo.png')
  return form
}

export type RemovebgErrors = { readonly errors: readonly { title: string; code: string; detail: string }[] }

/** The only code in an error response of the door for remove.bg. */
export async function codeOf(response: Response): Promise<string | undefined> {
  const { errors } = (await response.json()) as RemovebgErrors
  return errors.length === 1 ? errors[0]?.code : undefined
}

const tasksOf = (world: World, workspaceId: string) =>
  world.db.selectFrom('task').select(['id', 'status']).where('workspace_id', '=', workspaceId).execute()

/** The only task of a workspace, once it is there in this status. */
export const untilTask = (
  world: World,
  workspaceId: string,
  status: string,
  options?: UntilOptions,
): Promise<{ id: string }> =>
  until(
    `the task is ${status}`,
    async () => {
      const [task, ...more] = await tasksOf(world, workspaceId)
      return more.length === 0 && task?.status === status ? task : undefined
    },
    options,
  )

export const countTasks = async (world: World, workspaceId: string): Promise<number> =>
  (await tasksOf(world, workspaceId)).length

/** Uploads that no task uses and no sweep has to delete. */
export const countUnusedUploads = async (world: World, workspaceId: string): Promise<number> =>
  (
    await world.db
      .selectFrom('upload')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('used_at', 'is', null)
      .where('deleted_at', 'is', null)
      .execute()
  ).length
