import { bodySchemaOf, eventCatalog, testBodySchema, testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import type { Static } from 'typebox'
import type { eventSchema } from '../schemas/app/developer.ts'

type EventView = Static<typeof eventSchema>

/** Every event with the form of its body, the test event last. */
export function toEventViews(): EventView[] {
  const test = {
    event: testEvent,
    description: 'Sent by the Test button of an endpoint, with the same signature. Its body is not flat.',
    subscribable: false,
    ...toBody(testBodySchema),
  }
  return [
    ...webhookEvents.map((event) => {
      const { description } = eventCatalog[event]
      return { event, description, subscribable: true, ...toBody(bodySchemaOf(event)) }
    }),
    test,
  ]
}

const toBody = ({ examples, ...schema }: { readonly examples: readonly object[] }) => ({
  schema,
  example: examples[0] ?? {},
})
