// Memory for bodies that hold images. A request reserves bytes as they arrive, so concurrent images cannot exhaust the
// process, and a client that announces a large body and sends nothing holds nothing. The image is released once it is
// stored; results are streamed and need none.
import { capacityExceeded } from '../errors/error-handler.ts'

/** A fifth of the 768 MiB that the chart gives the process. */
const totalBytesMax = 160 * 1_048_576

/** Bytes that one request has reserved, until it is disposed. */
export type ByteHold = Disposable & {
  /** @throws MatteError RATE_LIMIT_EXCEEDED when none are left */
  add(bytes: number): void
}

export type ByteBudget = { hold(holder: string): ByteHold }

/** One holder may use half; its first request may use all, and counts no more than that. */
export function byteBudget(maxBytes = totalBytesMax): ByteBudget {
  const held = new Map<string, number>()
  let taken = 0
  const change = (holder: string, bytes: number): void => {
    taken += bytes
    const left = (held.get(holder) ?? 0) + bytes
    if (left > 0) held.set(holder, left)
    else held.delete(holder)
  }
  return {
    hold: (holder) => {
      let own = 0
      return {
        add: (wanted) => {
          const bytes = Math.min(wanted, maxBytes - own)
          const ofOthers = (held.get(holder) ?? 0) - own
          const isOverHalf = ofOthers > 0 && ofOthers + own + bytes > maxBytes / 2
          if (taken + bytes > maxBytes || isOverHalf) throw capacityExceeded()
          change(holder, bytes)
          own += bytes
        },
        [Symbol.dispose]: () => change(holder, -own),
      }
    },
  }
}
