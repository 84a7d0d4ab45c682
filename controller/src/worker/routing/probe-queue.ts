// When each pod is asked, and how many at once. A probe that is due while as many as may run are under way waits its
// turn; one that was planned again meanwhile, such as after an ejection, waits for its new time.

export type ProbeQueue<T> = ReturnType<typeof createProbeQueue<T>>

type ProbeQueueOptions<T> = {
  readonly atOnceMax: number
  /** Never rejects. */
  readonly probe: (target: T) => Promise<void>
  /** Asked when its turn has come. */
  readonly isWanted: (target: T) => boolean
}

export function createProbeQueue<T>({ atOnceMax, probe, isWanted }: ProbeQueueOptions<T>) {
  const timers = new Map<T, NodeJS.Timeout>()
  const due: T[] = []
  const running = new Map<T, Promise<void>>()
  let started = false

  function probeDue(): void {
    while (started && running.size < atOnceMax) {
      const target = due.shift()
      if (target === undefined) return
      if (running.has(target) || timers.has(target) || !isWanted(target)) continue
      const work = probe(target).finally(() => {
        running.delete(target)
        probeDue()
      })
      running.set(target, work)
    }
  }

  function cancel(target: T): void {
    clearTimeout(timers.get(target))
    timers.delete(target)
  }

  return {
    cancel,
    start: (): void => {
      started = true
    },
    /** Probes `target` after `ms`, instead of what was planned for it; nothing before the start or after the stop. */
    plan: (target: T, ms: number): void => {
      cancel(target)
      if (!started) return
      const fire = (): void => {
        timers.delete(target)
        due.push(target)
        probeDue()
      }
      timers.set(target, setTimeout(fire, ms))
    },
    /** Resolves when the probes under way have ended. */
    stop: async (): Promise<void> => {
      started = false
      for (const target of timers.keys()) cancel(target)
      await Promise.all(running.values())
    },
  }
}
