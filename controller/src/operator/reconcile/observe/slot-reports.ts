// Requests in flight in each pod, as workers report them. They only order pods for removal, so a lost report is
// harmless.
import type { Bus } from '@matte/core/bus/bus'
import { listen } from '@matte/core/bus/listen'
import { readSlotReport, type SlotReport } from '@matte/core/bus/slot-report'
import { subjects } from '@matte/core/bus/streams'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import type { Service } from '@matte/core/runtime/service'

/** Three report intervals. An older report belongs to a stopped or idle worker. */
const freshMs = 3_000
/** Above any installation's workers; the oldest report is dropped. */
const workersMax = 1_000

type SlotReports = Service & {
  /** Requests in flight from all workers in the pod at an address. */
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
