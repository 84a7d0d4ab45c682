import { setTimeout as pause } from 'node:timers/promises'

type WaitOptions = {
  /** What is waited for, for the error's text. */
  readonly what: string
  readonly timeoutMs: number
  readonly everyMs?: number
  /** Throws to give up early, for instance because the process has ended. */
  readonly giveUp?: () => void
}

/** Asks until the answer is true; a throwing question counts as "not yet". @throws Error after `timeoutMs` */
export async function waitUntil(question: () => Promise<boolean> | boolean, options: WaitOptions): Promise<void> {
  const { what, timeoutMs, everyMs = 50, giveUp } = options
  const deadline = performance.now() + timeoutMs
  for (;;) {
    if (await ask(question)) return
    giveUp?.()
    if (performance.now() > deadline) throw new Error(`${what}: not so after ${timeoutMs / 1_000} s`)
    await pause(everyMs)
  }
}

async function ask(question: () => Promise<boolean> | boolean): Promise<boolean> {
  try {
    return await question()
  } catch {
    return false
  }
}

/** True when a GET answers with one of these statuses within 2 s. */
export async function answers(url: string, statuses: readonly number[] = [200]): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000), redirect: 'manual' })
  await response.body?.cancel()
  return statuses.includes(response.status)
}
