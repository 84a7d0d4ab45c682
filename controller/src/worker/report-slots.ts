// Publishes this worker's requests in flight per pod; the operator removes the least busy pods first.
import type { Bus } from '@matte/core/bus/bus'
import { publishSlotReport } from '@matte/core/bus/slot-report'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'

type ReportSlotsOptions = {
  readonly bus: Bus
  readonly worker: string
  readonly slots: () => ReadonlyMap<string, number>
}

/** The operator ignores reports older than three periods. */
const everyMs = 1_000

export function reportSlots({ bus, worker, slots }: ReportSlotsOptions): Service {
  let busy = false
  return repeat({
    name: 'report-slots',
    pass: async () => {
      const now = slots()
      // One empty report withdraws the last full one; an idle worker is silent.
      if (busy || now.size > 0) publishSlotReport(bus, { worker, slots: now })
      busy = now.size > 0
      return everyMs
    },
  })
}
