import { afterEach } from 'vitest'

/** Call in a block; the returned function reports whether a test of the block has failed so far. */
export function watchFailures(): () => boolean {
  let failed = false
  afterEach(({ task }) => {
    failed ||= task.result?.state === 'fail'
  })
  return () => failed
}
