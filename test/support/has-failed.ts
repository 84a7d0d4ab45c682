import { afterEach } from 'vitest'

/** Call it in a block; the answer says whether a test of the block has failed so far. */
export function watchFailures(): () => boolean {
  let failed = false
  afterEach(({ task }) => {
    failed ||= task.result?.state === 'fail'
  })
  return () => failed
}
