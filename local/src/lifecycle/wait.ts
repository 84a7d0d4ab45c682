import { setTimeout as pause } from 'node:timers/promises'

type WaitOptions = {
  readonly what: string
  readonly timeoutMs: number
  readonly everyMs?: number
  /** Throws to stop waiting early. */
  readonly giveUp?: () => void
}

/** Polls until the question returns true; a throw counts as false. @throws Error after `timeoutMs` */
export async function waitUntil(question: () => Promise<boolean> | boolean, options: WaitOptions): Promise<void> {
  const { what, timeoutMs, everyMs = 50, giveUp } = options
  const deadline = performance.now() + timeoutMs
  for (;;) {
    if (await ask(question)) return
    giveUp?.()
    if (performance.now() > deadline) throw new Error(`timed out after ${timeoutMs / 1_000} s waiting until ${what}`)
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

export async function answers(url: string, statuses: readonly number[] = [200]): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000), redirect: 'manual' })
  await response.body?.cancel()
  return statuses.includes(response.status)
}
