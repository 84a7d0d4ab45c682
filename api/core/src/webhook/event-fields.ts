// The bodies of the events that are no task's: flat JSON, `event` first; made once and stored, because the bytes are
// what is signed (D63). Amounts of money are integers in minor units, currencies ISO 4217, dates ISO 8601.
import type { eventCatalog } from './event-catalog.ts'

type Catalog = typeof eventCatalog
type TaskEvent = 'task.succeeded' | 'task.failed'

type FieldsOf<E extends keyof Catalog> = {
  readonly [F in keyof Catalog[E]['fields']]: Catalog[E]['fields'][F] extends { type: 'integer' } ? number : string
}

/** An event with its fields, in the interface's order: the order in which they are given is the order of the body. */
export type EventFields = {
  readonly [E in Exclude<keyof Catalog, TaskEvent>]: { readonly event: E; readonly fields: FieldsOf<E> }
}[Exclude<keyof Catalog, TaskEvent>]

/** The fields of `welcome`, which is published at verification and delivered to a first endpoint (D90). */
export const welcomeFields = { message: 'Welcome to Matte: your account is ready.' }

export const buildEventBody = ({ event, fields }: EventFields): string => JSON.stringify({ event, ...fields })
