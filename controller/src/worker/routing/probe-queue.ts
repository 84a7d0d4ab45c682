// Schedules probes, at most `atOnceMax` at a time. A due probe waits its turn; replanning it replaces its time.

export type ProbeQueue<T> = ReturnType<typeof createProbeQueue<T>>

type ProbeQueueOptions<T> = {
  readonly atOnceMax: number
  /** Must not reject. */
  readonly probe: (target: T) => Promise<void>
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
    /** Probes `target` after `ms`, replacing an earlier plan; ignored unless started. */
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
    stop: async (): Promise<void> => {
      started = false
      for (const target of timers.keys()) cancel(target)
      await Promise.all(running.values())
    },
  }
}
