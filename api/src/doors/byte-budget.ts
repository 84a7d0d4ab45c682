// Memory for bodies of the doors. A request reserves its bytes before it reads, so concurrent images cannot exhaust
// the process. The image is released once it is stored; results are streamed and need none.
import { capacityExceeded } from '../errors/error-handler.ts'

/** A fifth of the 768 MiB that the chart gives the process. */
const totalBytesMax = 160 * 1_048_576

export type ByteBudget = {
  /** Runs `work` with `bytes` reserved for `holder`. @throws MatteError RATE_LIMIT_EXCEEDED when none are left */
  use<T>(holder: string, bytes: number, work: () => Promise<T>): Promise<T>
}

/** One holder may use half; its first request is admitted whatever its size. */
export function byteBudget(maxBytes = totalBytesMax): ByteBudget {
  const held = new Map<string, number>()
  let taken = 0
  const add = (holder: string, bytes: number): void => {
    taken += bytes
    const left = (held.get(holder) ?? 0) + bytes
    if (left > 0) held.set(holder, left)
    else held.delete(holder)
  }
  return {
    use: async (holder, wanted, work) => {
      const bytes = Math.min(wanted, maxBytes) // a plan with huge files gets one at a time
      const own = held.get(holder) ?? 0
      if (taken + bytes > maxBytes || (own > 0 && own + bytes > maxBytes / 2)) throw capacityExceeded()
      add(holder, bytes)
      try {
        return await work()
      } finally {
        add(holder, -bytes)
      }
    },
  }
}
