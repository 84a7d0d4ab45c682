import { createBudget } from './budget.ts'
import { decodePhoto, readHeader } from './decode.ts'
import { encodeResult } from './encode.ts'
import { layOverImage, toParts } from './layers.ts'
import { toModelInput } from './model-input.ts'

export type SharpCalls = ReturnType<typeof createSharpCalls>

/** Limits concurrent sharp calls: each occupies a thread of Node's pool, which files and zlib need too. */
export function createSharpCalls(atOnceMax: number) {
  const turns = createBudget(atOnceMax)
  /** Adds a signal as first argument, which removes a waiting call; a running call continues. */
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
    layOverImage: onTurn(layOverImage),
    toParts: onTurn(toParts),
  }
}
