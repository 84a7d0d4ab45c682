// Samples of events: example values of the catalogue with nil ids, so a receiver can tell them from real events.
import { eventCatalog } from './event-catalog.ts'
import type { WebhookEvent } from './events.ts'

/** Marks a delivery of a sample; other deliveries do not have it. */
export const sampleHeader = { 'X-Matte-Sample': 'true' } as const

const nilId = '00000000-0000-0000-0000-000000000000'

type SampledField = { readonly format?: string; readonly example: string | number }

/** The body of a sample: the bytes to sign and send, like `buildEventBody`. */
export function buildSampleEvent(event: WebhookEvent): string {
  const fields: Readonly<Record<string, SampledField>> = eventCatalog[event].fields
  const values = Object.entries(fields).map(([name, { format, example }]) => [
    name,
    format === 'uuid' ? nilId : example,
  ])
  return JSON.stringify({ event, ...Object.fromEntries(values) })
}
