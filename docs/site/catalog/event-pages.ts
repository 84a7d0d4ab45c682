// A page per webhook event, from the event catalog. docs/events.md lists them all.
import { bodySchemaOf, eventCatalog, testBodySchema, testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import { code, join, json, table } from '../markdown.ts'
import { type Page, urlOf } from '../page.ts'

export const pathOfEvent = (event: string): string => `events/${event}`

export const eventNames: readonly string[] = [...webhookEvents, testEvent]

type Field = readonly [name: string, type: string, description: string]
type Described = {
  readonly event: string
  readonly description: string
  readonly fields: readonly Field[]
  readonly schema: { readonly examples: readonly unknown[] }
}

const described: readonly Described[] = [
  ...webhookEvents.map((event) => {
    const { description, fields } = eventCatalog[event]
    const listed = Object.entries<{ type: string; format?: string; description: string }>(fields)
    const named = listed.map(
      ([name, { type, format, description }]) =>
        [name, format === undefined ? type : `${type} (${format})`, description] as const,
    )
    return { event, description, fields: named, schema: bodySchemaOf(event) }
  }),
  {
    event: testEvent,
    description: 'You have requested a test of a webhook endpoint. The event cannot be subscribed to.',
    fields: [
      ['timestamp', 'string (date-time)', 'Time of the request.'],
      ['data.message', 'string', 'Text for users; it may change.'],
      ['data.endpoint_id', 'string (uuid)', 'The endpoint.'],
    ],
    schema: testBodySchema,
  },
]

export const buildEventPages = (): Page[] => described.map(buildEventPage)

function buildEventPage({ event, description, fields, schema }: Described): Page {
  const rows = fields.map(([name, type, meaning]) => [code(name), type, meaning])
  const { examples, ...definition } = schema
  const markdown = join(
    `# ${code(event)}`,
    description,
    '## Body',
    table(['field', 'type', 'meaning'], [['`event`', 'string', `Always ${code(event)}.`], ...rows]),
    json(examples[0]),
    '## JSON Schema',
    json(definition),
    '## Receive it',
    receiving,
  )
  return { path: pathOfEvent(event), title: event, markdown }
}

const receiving = `The event arrives as a POST with the header \`X-Service-Signature\`. Verify the signature over the raw \
body, respond with a 2xx status within 15 seconds, and expect the same event more than once. \
[Webhooks](${urlOf('webhooks')}) has code for several languages, and [Webhooks without a public \
address](${urlOf('listen')}) explains how to receive events on your machine.`
