// Webhooks of the document: each event as the POST that a receiver gets, from the catalog that the dispatcher uses.
import { bodySchemaOf, eventCatalog, testBodySchema, testEvent } from '@matte/core/webhook/event-catalog'
import { webhookEvents } from '@matte/core/webhook/events'
import type { ApiDocument } from './api-document.ts'
import { type JsonSchema, schemaPrefix } from './example.ts'

/** Headers of each attempt, signed by `api/core/src/webhook/signature.ts`. */
const signatureHeaders = {
  'X-Service-Signature': {
    description:
      'Unix time in seconds and the HMAC-SHA256, in lower-case hex, of `<t>.<raw body>`; the key is the whole ' +
      'signing secret. Compare signatures in constant time.',
    schema: { type: 'string', pattern: '^t=[0-9]+,v1=[0-9a-f]{64}$' },
    example: 't=1795253400,v1=6f1c0b1a9f0e4d0f8a53b2d7c9e14a77d0b6f0b7f3a1c5e2948d6b7a0c1e2f34',
  },
  'webhook-id': {
    description: 'Id of the delivery, the same on each attempt and redelivery.',
    schema: { type: 'string', format: 'uuid' },
    example: '1c4b5f0e-6a53-4c6e-8a0e-2f4f7a1f9a77',
  },
  'webhook-timestamp': {
    description: 'Unix time of the attempt in seconds.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '1795253400',
  },
  'webhook-signature': {
    description:
      'Standard Webhooks signatures; the key is the decoded part of the secret. One, or during a rotation two, ' +
      'separated by a space.',
    schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)?$' },
    example: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
} as const

/** Absent unless the owner of an endpoint asked for a sample. */
const sampleHeaders = {
  'X-Matte-Sample': {
    description: '`true` on samples: example values and nil ids. Absent on events.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
} as const

const receiverResponses = {
  EventReceived: { description: 'The event is delivered. Respond within 15 seconds.' },
  EventNotReceived: { description: 'The attempt failed, like a redirect. The event is sent again.' },
}

const events = [
  ...webhookEvents.map((name) => ({ name, ...eventCatalog[name], body: bodySchemaOf(name) })),
  { name: testEvent, description: 'The owner of an endpoint asked for a test.', body: testBodySchema },
]

export function describeWebhooks(components: ApiDocument['components']): Record<string, unknown> {
  components.parameters = Object.fromEntries(
    Object.entries({ ...signatureHeaders, ...sampleHeaders }).map(([name, header]) => [
      name,
      { name, in: 'header', required: Object.hasOwn(signatureHeaders, name), ...header },
    ]),
  )
  components.responses = { ...receiverResponses }
  return Object.fromEntries(
    events.map(({ name, description, body }) => {
      const bodyName = `${toPascal(name)}Event`
      const { examples, ...schema } = body
      components.schemas[bodyName] = schema as JsonSchema
      return [name, { post: receiverOperation({ name, description, bodyName, example: examples[0] }) }]
    }),
  )
}

type Received = {
  readonly name: string
  readonly description: string
  readonly bodyName: string
  readonly example: unknown
}

const receiverOperation = ({ name, description, bodyName, example }: Received) => ({
  operationId: `on${toPascal(name)}`,
  summary: `Receive ${name}`,
  description,
  tags: ['Webhooks'],
  security: [],
  parameters: Object.keys({ ...signatureHeaders, ...sampleHeaders }).map((header) => ({
    $ref: `#/components/parameters/${header}`,
  })),
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: `${schemaPrefix}${bodyName}` }, example } },
  },
  responses: {
    '2XX': { $ref: '#/components/responses/EventReceived' },
    default: { $ref: '#/components/responses/EventNotReceived' },
  },
})

/** `task.retention_cleanup` → `TaskRetentionCleanup`. */
const toPascal = (name: string): string =>
  name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())
