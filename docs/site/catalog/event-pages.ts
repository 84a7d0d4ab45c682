// A page per webhook event, from the event catalog. docs/events.md lists them all.
import { bodySchemaOf, eventCatalog, testBodySchema, testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import { codeBlock } from '../markdown/code.ts'
import { type Resolve, renderInline } from '../markdown/render.ts'
import { type Page, urlOf } from '../page.ts'
import { section, table } from '../parts.ts'

export const pathOfEvent = (event: string): string => `events/${event}`

export const eventNames: readonly string[] = [...webhookEvents, testEvent]

type Field = { readonly name: string; readonly type: string; readonly description: string }
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
    const named = listed.map(([name, { type, format, description }]) => ({
      name,
      type: format === undefined ? type : `${type} (${format})`,
      description,
    }))
    return { event, description, fields: named, schema: bodySchemaOf(event) }
  }),
  {
    event: testEvent,
    description: 'You have requested a test of a webhook endpoint. The event cannot be subscribed to.',
    fields: [
      { name: 'timestamp', type: 'string (date-time)', description: 'Time of the request.' },
      { name: 'data.message', type: 'string', description: 'Text for users; it may change.' },
      { name: 'data.endpoint_id', type: 'string (uuid)', description: 'The endpoint.' },
    ],
    schema: testBodySchema,
  },
]

export const buildEventPages = (resolve: Resolve): Page[] => described.map((one) => buildEventPage(one, resolve))

function buildEventPage({ event, description, fields, schema }: Described, resolve: Resolve): Page {
  const own = { ...resolve, name: (name: string) => (name === event ? undefined : resolve.name(name)) }
  const rows = [
    ['<code>event</code>', 'string', `Always <code>${event}</code>.`],
    ...fields.map(({ name, type, description }) => [`<code>${name}</code>`, type, renderInline(description, own)]),
  ]
  const { examples, ...definition } = schema
  const parts = [
    section(
      'Body',
      `${table(['field', 'type', 'meaning'], rows)}${codeBlock(JSON.stringify(examples[0], null, 2), 'json')}`,
    ),
    section('JSON Schema', codeBlock(JSON.stringify(definition, null, 2), 'json')),
    section('Receive it', receiving),
  ]
  const html = `<h1 class="code-title"><code>${event}</code></h1>
<p class="lead">${renderInline(description, own)}</p>
${parts.map(({ html }) => html).join('\n')}`
  return {
    path: pathOfEvent(event),
    title: event,
    group: 'Webhook events',
    html,
    headings: parts.map((one) => one.heading),
  }
}

const receiving = `<p>The event arrives as a POST with the header <code>X-Service-Signature</code>. Verify the signature over \
the raw body, respond with a 2xx status within 15 seconds, and expect the same event more than once. \
<a href="${urlOf('webhooks')}">Webhooks</a> has code for several languages, and \
<a href="${urlOf('listen')}">Webhooks without a public address</a> explains how to receive events on your machine.</p>`
