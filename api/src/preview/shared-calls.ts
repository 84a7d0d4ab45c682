// Concurrent calls with the same key share one piece of work. It is aborted when the last of its callers leaves.
import { orAborted } from '@matte/core/runtime/race'

type Work<T> = { readonly result: Promise<T>; readonly unwanted: AbortController; callers: number }

type SharedCalls<T> = {
  /** Joins the work of this key, or starts it. @throws the error of the work, or the signal's reason */
  run(key: string, signal: AbortSignal, act: (unwanted: AbortSignal) => Promise<T>): Promise<T>
}

export function sharedCalls<T>(): SharedCalls<T> {
  const works = new Map<string, Work<T>>()
  const forget = (key: string, work: Work<T>): void => {
    if (works.get(key) === work) works.delete(key)
  }
  return {
    run: async (key, signal, act) => {
      const work = works.get(key) ?? begin(act)
      works.set(key, work)
      work.callers += 1
      try {
        return await orAborted(work.result, signal)
      } finally {
        work.callers -= 1
        if (work.callers === 0) {
          forget(key, work)
          work.unwanted.abort()
        }
      }
    },
  }
}

function begin<T>(act: (unwanted: AbortSignal) => Promise<T>): Work<T> {
  const unwanted = new AbortController()
  return { result: act(unwanted.signal), unwanted, callers: 0 }
}
