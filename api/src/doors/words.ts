import type { Issue } from '@matte/core/invalid-params'
import type { PublicError } from '../errors/error-handler.ts'

/** One sentence for protocols that have no list of issues. */
export function wordsOf({ message, details }: Pick<PublicError, 'message' | 'details'>): string {
  const issues = Array.isArray(details.issues) ? (details.issues as readonly Issue[]) : []
  if (issues.length === 0) return message
  return `${issues.map((issue) => `${issue.path.replace(/^\/\w+\//, '')} ${issue.message}`).join('; ')}.`
}

/** Names a task that ends and is charged after the wait. */
export const taskHeader = (taskId: string | undefined): Record<string, string> =>
  taskId === undefined ? {} : { 'x-task-id': taskId }

export const lateWords = (taskId: string | undefined): string =>
  taskId === undefined
    ? 'The image was not processed in time. Try again.'
    : `The image was not processed in time. The task ${taskId} is in progress: get its result, which is charged, with ` +
      `GET /api/v1/open/developer/tasks/${taskId}.`
