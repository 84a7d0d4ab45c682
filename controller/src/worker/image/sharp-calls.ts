import { decodePhoto, readHeader } from './decode.ts'
import { encodeResult } from './encode.ts'
import { createBudget } from './memory/budget.ts'
import { toModelInput } from './model-input.ts'

export type SharpCalls = ReturnType<typeof createSharpCalls>

/**
 * All work of sharp's, at most so many calls at once. Each takes a thread of Node's pool for as long as it lasts; what
 * waits does so here, so that files, zlib and whatever else needs a thread find one (A51).
 */
export function createSharpCalls(atOnceMax: number) {
  const turns = createBudget(atOnceMax)
  /** The call with a signal before its own arguments: it leaves the queue when that fires; once begun it goes on. */
  const onTurn =
    <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (signal: AbortSignal, ...args: A): Promise<R> => {
      const release = await turns.acquire(1, signal)
      try {
        return await call(...args)
      } finally {
        release()
      }
    }
  return {
    readHeader: onTurn(readHeader),
    decodePhoto: onTurn(decodePhoto),
    toModelInput: onTurn(toModelInput),
    encodeResult: onTurn(encodeResult),
  }
}
