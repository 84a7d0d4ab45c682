// Publishes this worker's requests in flight by pod. The operator removes the least busy pods first by these reports.
import type { Bus } from '@matte/core/bus/bus'
import { publishSlotReport } from '@matte/core/bus/slot-report'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'

type ReportSlotsOptions = {
  readonly bus: Bus
  /** Names this process: no two that run at once may have the same name. */
  readonly worker: string
  readonly slots: () => ReadonlyMap<string, number>
}

/** The operator takes a report that is three times as old for none. */
const everyMs = 1_000

export function reportSlots({ bus, worker, slots }: ReportSlotsOptions): Service {
  let busy = false
  return repeat({
    name: 'report-slots',
    pass: async () => {
      const now = slots()
      // The first empty report takes the last full one back; an idle worker then says nothing.
      if (busy || now.size > 0) publishSlotReport(bus, { worker, slots: now })
      busy = now.size > 0
      return everyMs
    },
  })
}
