// A worker's requests in flight by pod, which it publishes each second while there are any. No stream stores them: a
// report is out of date with the next one.
import type { Bus } from './bus.ts'
import { subjects } from './streams.ts'

export type SlotReport = {
  /** One name for each process. */
  readonly worker: string
  /** Address of a pod → requests in flight, those with none left out. */
  readonly slots: ReadonlyMap<string, number>
}

/** Does not throw: without a connection the report is lost. */
export function publishSlotReport(bus: Bus, { worker, slots }: SlotReport): void {
  try {
    bus.connection()?.publish(subjects.slots(bus.prefix), JSON.stringify({ worker, slots: Object.fromEntries(slots) }))
  } catch {
    // The connection closes; the next report goes over the next one.
  }
}

/** Undefined for a text that no worker writes. */
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
