import type { Issue } from '@matte/core/invalid-params'
import type { PublicError } from '../errors/error-handler.ts'

/** One sentence for protocols that have no list of issues. */
export function wordsOf({ message, details }: Pick<PublicError, 'message' | 'details'>): string {
  const issues = Array.isArray(details.issues) ? (details.issues as readonly Issue[]) : []
  if (issues.length === 0) return message
  return `${issues.map((issue) => `${issue.path.replace(/^\/\w+\//, '')} ${issue.message}`).join('; ')}.`
}
