// Requests that the workers have in flight in each pod, as they report them. They decide which of several equal pods
// goes first and nothing else, so a lost report costs a drain a little longer, and no task.
import type { Bus } from '@matte/core/bus/bus'
import { listen } from '@matte/core/bus/listen'
import { readSlotReport, type SlotReport } from '@matte/core/bus/slot-report'
import { subjects } from '@matte/core/bus/streams'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import type { Service } from '@matte/core/runtime/service'

/** Three reports of a worker. An older one is of a worker that has stopped, or that has nothing in flight. */
const freshMs = 3_000
/** More workers than any installation has; beyond it the oldest report is dropped. */
const workersMax = 1_000

type SlotReports = Service & {
  /** Requests in flight in the pod at an address, over all workers. */
  readonly slotsUsed: (address: string) => number
}

export function slotReports(bus: Bus, clock: Pick<Clock, 'monotonicMs'> = systemClock): SlotReports {
  const latest = new BoundedMap<string, { readonly slots: SlotReport['slots']; readonly atMs: number }>(workersMax)
  const heard = (text: string): void => {
    const report = readSlotReport(text)
    if (report) latest.set(report.worker, { slots: report.slots, atMs: clock.monotonicMs() })
  }
  return {
    ...listen({ bus, subject: subjects.slots(bus.prefix), heard }),
    slotsUsed: (address) => {
      const since = clock.monotonicMs() - freshMs
      let used = 0
      for (const { slots, atMs } of latest.values()) if (atMs >= since) used += slots.get(address) ?? 0
      return used
    },
  }
}
