// Retry, cancel and erasure of many tasks. The page shows the new state at once, and the old one if the service
// refuses.
import { useQueryClient } from '@tanstack/react-query'
import type { Task } from 'matte-client'
import { useService } from '../../session/use-session.ts'
import { batchKey, eventsKey, findTask, patchTask, putTask } from './task-cache.ts'

export type Refusal = { readonly task: Task; readonly error: unknown }
export type Outcome = { readonly doneCount: number; readonly refusals: readonly Refusal[] }

export type TaskActions = {
  readonly retry: (tasks: readonly Task[]) => Promise<Outcome>
  readonly cancel: (tasks: readonly Task[]) => Promise<Outcome>
  /** Cannot be undone: ask first. */
  readonly erase: (tasks: readonly Task[]) => Promise<Outcome>
}

const atOnceMax = 4

export function useTaskActions(): TaskActions {
  const service = useService()
  const queries = useQueryClient()

  async function act(
    tasks: readonly Task[],
    expected: (task: Task) => Task,
    send: (id: string) => Promise<Task>,
  ): Promise<Outcome> {
    for (const { id } of tasks) patchTask(queries, id, expected)
    const refusals: Refusal[] = []
    await inPool(tasks, atOnceMax, async (task) => {
      try {
        putTask(queries, await send(task.id))
      } catch (error) {
        refusals.push({ task, error })
        // The task may have changed meanwhile, which is a common cause of a refusal.
        const now = await service.tasks.get(task.id).catch(() => task)
        putTask(queries, now)
      }
      void queries.invalidateQueries({ queryKey: eventsKey(task.id) })
    })
    for (const batchId of new Set(tasks.map((task) => task.batchId))) {
      if (batchId !== null) void queries.invalidateQueries({ queryKey: batchKey(batchId) })
    }
    return { doneCount: tasks.length - refusals.length, refusals }
  }

  const current = (tasks: readonly Task[]) => tasks.map((task) => findTask(queries, task.id) ?? task)
  return {
    retry: (tasks) =>
      act(
        current(tasks).filter(canRetry),
        (task) => ({ ...task, status: 'queued', failure: null, completedAt: null, retryCount: task.retryCount + 1 }),
        (id) => service.tasks.retry(id),
      ),
    cancel: (tasks) =>
      act(
        current(tasks).filter(canCancel),
        (task) => ({ ...task, status: 'canceled' }),
        (id) => service.tasks.cancel(id),
      ),
    erase: (tasks) =>
      act(
        current(tasks).filter(canErase),
        (task) => ({ ...task, resultUrl: null }),
        (id) => service.tasks.eraseImages(id),
      ),
  }
}

export const canRetry = ({ status }: Task): boolean => status === 'failed'
export const canCancel = ({ status }: Task): boolean => status === 'queued'
export const canErase = ({ completedAt, erasedAt }: Task): boolean => completedAt !== null && erasedAt === null

async function inPool<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values()
  const run = async (): Promise<void> => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, run))
}
