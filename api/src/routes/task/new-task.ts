import type { Db } from '@matte/core/db/database'
import { findShownTask, type ShownTask, taskNotFound } from '@matte/core/task/task-queries'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { notePreference, readWaitSeconds } from '../../http/prefer.ts'
import type { ResultLinks } from '../../views/result-links.ts'
import { type TaskView, toNewTaskView } from '../../views/task-view.ts'
import type { TaskWaits } from '../../waits/task-waits.ts'

export type NewTaskDeps = {
  readonly db: Db
  readonly links: ResultLinks
  readonly waits: Pick<TaskWaits, 'untilEnded'>
  /** Seconds; what a caller prefers beyond it is cut to it (D43). */
  readonly maxWaitSeconds: number
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

type NewTaskAnswer = {
  /** The answer of creation: at once, or as the task is after the wait that the caller prefers. */
  answer(request: FastifyRequest, reply: FastifyReply, task: ShownTask): Promise<TaskView>
  /** The same for a task that was made before. @throws MatteError DEVELOPER_TASK_NOT_FOUND once it is cleaned away */
  replay(request: FastifyRequest, id: string, reply: FastifyReply): Promise<TaskView>
}

export function newTaskAnswer({ db, links, waits, maxWaitSeconds }: NewTaskDeps): NewTaskAnswer {
  async function answer(request: FastifyRequest, reply: FastifyReply, task: ShownTask): Promise<TaskView> {
    const wanted = readWaitSeconds(request.headers.prefer)
    if (wanted === undefined) return toNewTaskView(task, links)
    const seconds = Math.min(wanted, maxWaitSeconds)
    const ended = task.completed_at === null ? await waitFor(task.id, seconds, { request, reply }) : task
    if (ended === null) return toNewTaskView(task, links) // too many wait already: the preference is not followed
    notePreference(reply, `wait=${seconds}`)
    return toNewTaskView(ended ?? (await findShownTask(db, request.caller.workspaceId, task.id)) ?? task, links)
  }

  function waitFor(id: string, seconds: number, { request, reply }: Exchange) {
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    request.makeRoom()
    return waits.untilEnded(id, { waitMs: seconds * 1_000, signal: gone.signal, holders: request.holders })
  }

  return {
    answer,
    replay: async (request, id, reply) => {
      const task = await findShownTask(db, request.caller.workspaceId, id)
      if (task === undefined) throw taskNotFound()
      return answer(request, reply, task)
    },
  }
}
