import { type QueryKey, useQueryClient } from '@tanstack/react-query'
import { showError } from './toasts.tsx'

type Change<Data, Value> = {
  readonly queryKey: QueryKey
  /** The data as the change will leave it. */
  readonly apply: (data: Data, value: Value) => Data
  readonly send: (value: Value) => Promise<unknown>
}

/**
 * Shows a change at once and takes it back if the service refuses it. Resolves with false after a refusal, which a note
 * reports. Afterwards the data is read again.
 */
export function useChange<Data, Value>({ queryKey, apply, send }: Change<Data, Value>) {
  const queries = useQueryClient()
  return async (value: Value): Promise<boolean> => {
    await queries.cancelQueries({ queryKey })
    const before = queries.getQueryData<Data>(queryKey)
    if (before !== undefined) queries.setQueryData<Data>(queryKey, apply(before, value))
    try {
      await send(value)
      return true
    } catch (error) {
      if (before !== undefined) queries.setQueryData<Data>(queryKey, before)
      showError(error)
      return false
    } finally {
      void queries.invalidateQueries({ queryKey })
    }
  }
}
