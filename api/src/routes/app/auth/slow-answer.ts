import { pause } from '@matte/core/runtime/service'

/** Delays the answer of a request that began at `startedAt` until it has taken `answerMs` (D15). */
export async function untilAnswerMs(startedAt: number, answerMs: number): Promise<void> {
  const leftMs = answerMs - (performance.now() - startedAt)
  if (leftMs > 0) await pause(leftMs)
}
