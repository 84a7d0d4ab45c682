// Subscriptions of an endpoint: names of events and patterns such as `task.*`. A pattern is stored together with the
// names that it covers today, so that a release without patterns, which can run beside this one, matches them too.
import { type EventPattern, eventPatterns, type WebhookEvent, webhookEvents } from './events.ts'

export type EventType = WebhookEvent | EventPattern

export const eventTypes: readonly EventType[] = [...webhookEvents, ...eventPatterns]

const prefixOf = (event: string): string => event.split('.', 1)[0] ?? ''

/** The pattern that covers an event; an event without a prefix is covered by its name only. */
export const patternOf = (event: string): string => (event.includes('.') ? `${prefixOf(event)}.*` : event)

const isCovered = (event: string, types: readonly string[]): boolean =>
  event !== patternOf(event) && types.includes(patternOf(event))

/** Types to store: each once, with the events that their patterns cover. */
export const expandEventTypes = (types: readonly EventType[]): EventType[] => [
  ...new Set([...types, ...webhookEvents.filter((event) => isCovered(event, types))]),
]

/** Stored types without the events that a pattern covers. */
export const collapseEventTypes = (stored: readonly string[]): EventType[] =>
  (stored as EventType[]).filter((type) => !isCovered(type, stored)) // only known types are stored

/** Names of events that the types select. */
export const eventsOf = (types: readonly EventType[]): WebhookEvent[] =>
  webhookEvents.filter((event) => types.includes(event) || isCovered(event, types))
