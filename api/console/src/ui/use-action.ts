import { MatteError } from 'matte-client/app'
import { useState } from 'react'

type Issue = { readonly path: string; readonly message: string }

/** State of a form or a button that sends a request. */
export type Action<Args extends readonly unknown[]> = {
  readonly run: (...args: Args) => Promise<boolean>
  readonly isPending: boolean
  /** Undefined also when every issue belongs to a field. */
  readonly error: unknown
  /** Message for a field of the body or a member of it, as the service reports it. */
  readonly fieldError: (name: string) => string | undefined
  readonly reset: () => void
}

/** Runs one request at a time. `run` resolves with false if it failed; the error is then in `error` or at its field. */
export function useAction<Args extends readonly unknown[]>(
  act: (...args: Args) => Promise<unknown>,
  fields: readonly string[] = [],
): Action<Args> {
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const issues = readIssues(error)
  const ofField = (name: string) => issues.find(({ path }) => isIn(path, name))?.message
  const run = async (...args: Args): Promise<boolean> => {
    if (isPending) return false
    setIsPending(true)
    setError(undefined)
    try {
      await act(...args)
      return true
    } catch (cause) {
      setError(cause)
      return false
    } finally {
      setIsPending(false)
    }
  }
  const isAtFields = issues.length > 0 && issues.every(({ path }) => fields.some((name) => isIn(path, name)))
  return {
    run,
    isPending,
    error: isAtFields ? undefined : error,
    fieldError: ofField,
    reset: () => setError(undefined),
  }
}

const isIn = (path: string, field: string): boolean => `${path}/`.startsWith(`/body/${field}/`)

function readIssues(error: unknown): readonly Issue[] {
  if (!(error instanceof MatteError)) return []
  const issues: unknown = error.details?.issues
  return Array.isArray(issues) ? (issues as Issue[]) : []
}
