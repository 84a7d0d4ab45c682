// Requests in flight per pod, published by each worker every second while there are any. They are not stored: the next
// report replaces it.
import type { Bus } from './bus.ts'
import { subjects } from './streams.ts'

export type SlotReport = {
  readonly worker: string
  /** Address of a pod → requests in flight; idle pods are omitted. */
  readonly slots: ReadonlyMap<string, number>
}

/** Publishes without throwing; without a connection the report is lost. */
export function publishSlotReport(bus: Bus, { worker, slots }: SlotReport): void {
  try {
    bus.connection()?.publish(subjects.slots(bus.prefix), JSON.stringify({ worker, slots: Object.fromEntries(slots) }))
  } catch {}
}

export function readSlotReport(text: string): SlotReport | undefined {
  try {
    const { worker, slots } = JSON.parse(text) as { worker: unknown; slots: unknown }
    if (typeof worker !== 'string' || typeof slots !== 'object' || slots === null) return undefined
    const counts = Object.entries(slots).filter((entry): entry is [string, number] => Number.isInteger(entry[1]))
    return { worker, slots: new Map(counts) }
  } catch {
    return undefined
  }
}
