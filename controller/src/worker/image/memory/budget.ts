// Shares of what is limited: bytes of memory, threads. First come, first served: a large share is not overtaken forever
// by small ones, at the price of a gap while it waits for room.

/** `waitingMax`: the slots that feed this allow far fewer, and reaching it must show. */
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
   * Waits until the amount fits, and answers the function that gives it back (again: no effect). One larger than the
   * whole budget waits until it is alone. Rejects with the signal's reason when it fires first, and with a RangeError
   * when `waitingMax` others already wait.
   */
  async function acquire(requested: number, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    const amount = Math.min(requested, total)
    if (waiting.length === 0 && used + amount <= total) return take(amount)
    if (waiting.length >= waitingMax) throw new RangeError(`${waitingMax} already wait for their share`)
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
    /** What is taken now. */
    used: (): number => used,
    /** Sum of the amounts that callers wait for. */
    waiting: (): number => waiting.reduce((sum, { amount }) => sum + amount, 0),
    acquire,
  }
}
