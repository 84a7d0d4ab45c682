// Weighted semaphore for bytes or threads, first come, first served. Libraries' semaphores let small requests starve a
// large one.

export type Budget = ReturnType<typeof createBudget>

export function createBudget(total: number, waitingMax = 256) {
  const waiting: { readonly amount: number; readonly admit: () => void }[] = []
  let used = 0

  function take(amount: number): () => void {
    used += amount
    let held = true
    return () => {
      if (!held) return
      held = false
      used -= amount
      admitWaiting()
    }
  }

  function admitWaiting(): void {
    for (let next = waiting[0]; next && used + next.amount <= total; next = waiting[0]) {
      waiting.shift()
      next.admit()
    }
  }

  /**
   * Waits for `requested` units and returns their release (idempotent). A request larger than the budget runs alone.
   * Rejects with the signal's reason, or with a RangeError when `waitingMax` callers already wait.
   */
  async function acquire(requested: number, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    const amount = Math.min(requested, total)
    if (waiting.length === 0 && used + amount <= total) return take(amount)
    if (waiting.length >= waitingMax) throw new RangeError(`${waitingMax} callers already wait for the budget`)
    return await new Promise((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(waiter), 1)
        reject(signal?.reason)
        admitWaiting()
      }
      const admit = () => {
        signal?.removeEventListener('abort', leave)
        resolve(take(amount))
      }
      const waiter = { amount, admit }
      waiting.push(waiter)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  return {
    total,
    used: (): number => used,
    waiting: (): number => waiting.reduce((sum, { amount }) => sum + amount, 0),
    acquire,
  }
}
