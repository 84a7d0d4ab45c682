import swagger from '@fastify/swagger'
import type { FastifyContextConfig, FastifyInstance, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import type { Access } from '../access.ts'
import { apiKeySchema } from '../schemas/api-key.ts'
import { authSchemas } from '../schemas/app/auth.ts'
import {
  alertSettingsSchema,
  balanceSchema,
  expiryAlertSchema,
  ledgerEntrySchema,
  lotSchema,
} from '../schemas/app/credit.ts'
import { eventSchema, newApiKeySchema, rotatedSigningSecretSchema } from '../schemas/app/developer.ts'
import { confirmedEmailSchema, emailChangeSchema } from '../schemas/app/email.ts'
import { notificationPreferenceSchema, notificationSchema } from '../schemas/app/notification.ts'
import {
  creditPackSchema,
  eventReceiptSchema,
  invoiceSchema,
  orderSchema,
  planOfferSchema,
  refundSchema,
  subscriptionSchema,
} from '../schemas/app/payment.ts'
import { referralInvitationSchema, referralSchema } from '../schemas/app/referral.ts'
import { downloadSchema, taskChangeSchema, taskEventSchema } from '../schemas/app/task-event.ts'
import {
  auditEntrySchema,
  teamBillingSchema,
  teamCreditsSchema,
  teamInviteSchema,
  teamMemberSchema,
  teamSchema,
} from '../schemas/app/team.ts'
import { tokensSchema } from '../schemas/app/tokens.ts'
import { recoveryCodesSchema, twoFactorSetupSchema, twoFactorStateSchema } from '../schemas/app/two-factor.ts'
import {
  accountExportSchema,
  loginEventSchema,
  ownSubscriptionSchema,
  ownWorkspaceSchema,
  profileSchema,
} from '../schemas/app/user.ts'
import { batchSchema, batchSummarySchema } from '../schemas/batch.ts'
import { deliverySchema, recoverySchema } from '../schemas/delivery.ts'
import { modelSchema } from '../schemas/model.ts'
import { errorSchema } from '../schemas/schema.ts'
import { signingSecretSchema } from '../schemas/signing-secret.ts'
import { taskSchema } from '../schemas/task.ts'
import { uploadGrantSchema } from '../schemas/upload.ts'
import { usageSchema } from '../schemas/usage.ts'
import {
  deletedSchema,
  newWebhookEndpointSchema,
  rotatedWebhookEndpointSchema,
  webhookEndpointSchema,
} from '../schemas/webhook.ts'
import { type ApiDocument, idempotentMark } from './document/api-document.ts'
import { completeDocument } from './document/complete-document.ts'
import { settleDeclaredErrors } from './document/declared-errors.ts'

export const openapiPath = '/api/v1/openapi.json'

const named = [
  errorSchema,
  uploadGrantSchema,
  taskSchema,
  taskEventSchema,
  taskChangeSchema,
  downloadSchema,
  batchSummarySchema,
  batchSchema,
  webhookEndpointSchema,
  newWebhookEndpointSchema,
  rotatedWebhookEndpointSchema,
  deliverySchema,
  recoverySchema,
  deletedSchema,
  signingSecretSchema,
  apiKeySchema,
  usageSchema,
  modelSchema,
  balanceSchema,
  teamSchema,
  teamMemberSchema,
  teamInviteSchema,
  teamCreditsSchema,
  teamBillingSchema,
  auditEntrySchema,
  tokensSchema,
  twoFactorSetupSchema,
  recoveryCodesSchema,
  twoFactorStateSchema,
  emailChangeSchema,
  confirmedEmailSchema,
  profileSchema,
  ownSubscriptionSchema,
  loginEventSchema,
  ownWorkspaceSchema,
  accountExportSchema,
  ...authSchemas,
  notificationSchema,
  notificationPreferenceSchema,
  newApiKeySchema,
  rotatedSigningSecretSchema,
  eventSchema,
  planOfferSchema,
  creditPackSchema,
  orderSchema,
  refundSchema,
  invoiceSchema,
  subscriptionSchema,
  eventReceiptSchema,
  ledgerEntrySchema,
  lotSchema,
  expiryAlertSchema,
  alertSettingsSchema,
  referralSchema,
  referralInvitationSchema,
]

const description = `Removes the background from images.

**The key.** Every request sends \`X-API-Key: service_live_…\`. A key belongs to a workspace and is made in its
settings, or by whoever runs the service: \`matte-admin key create\`. Each operation names the scope that its
key needs.

1. Get an upload grant: \`POST /api/v1/open/developer/uploads/presign\` with \`fileName\` and \`contentType\`.
2. Send the bytes: \`curl -T cat.jpg -H 'Content-Type: image/jpeg' "$uploadUrl"\`. The URL is the credential; no
   key goes there.
3. Create a task: \`POST /api/v1/open/developer/tasks\` with the grant's \`objectKey\` as \`imageUrl\`.
4. Read the task until its \`status\` is \`succeeded\`, \`failed\` or \`canceled\`, or create it with
   \`Prefer: wait=20\`, or hear of it by webhook; \`resultUrl\` is the image, and needs no key either.

**Answers.** Success is \`{request_id, data}\`, failure \`{request_id, error: {code, message, details}}\`;
\`request_id\` is also the header \`X-Request-Id\`, and a request's own \`X-Request-Id\` is adopted. What a path
or a method does not have is 404 \`NOT_FOUND\`; the header \`Allow\` then names the methods that a known path
has.

**Unknown fields** and query parameters are ignored and named in \`X-Ignored-Fields\`;
\`Prefer: handling=strict\` refuses them. \`null\` for an optional field means absent.

**Limits.** Requests are counted per workspace and minute; the \`X-RateLimit-\` headers say what is left.
Answers 429 and 503 carry \`Retry-After\` in seconds.

**Webhooks** are POSTs of flat JSON, \`{"event": "task.succeeded", "task_id": …}\`, to a task's \`callbackUrl\`
and to your webhook endpoints. Verify each: \`X-Service-Signature: t=…,v1=…\` has the Unix time in seconds and
the HMAC-SHA256, in lower-case hex, of \`<t>.<raw body>\`, keyed by the whole secret as you got it, \`whsec_\`
included. That is the endpoint's, shown when it is created, or for a \`callbackUrl\` the workspace's, see
\`getSigningSecret\`. An event may come more than once.

**Once.** Send an \`Idempotency-Key\` with what creates or charges: the same request again, within 24 hours,
makes nothing new.`

const tags = [
  { name: 'Uploads', description: 'Where photos go before a task can name them.' },
  { name: 'Tasks', description: 'One photo in, one cut-out back.' },
  { name: 'Batches', description: 'Tasks for many photos, created together or not at all.' },
  { name: 'Webhooks', description: 'Where the service sends events, and how a receiver knows it is the service.' },
  { name: 'API keys', description: 'The keys of the workspace. A key can make no key.' },
  { name: 'Usage', description: 'What the workspace has used.' },
  { name: 'Images', description: 'Uploads, tasks and batches of the workspace, for members who are signed in.' },
  { name: 'Two-factor login', description: 'A code beside the password.' },
  { name: 'Account', description: 'You, your address and your data.' },
  { name: 'Sign-in', description: 'Accounts, sessions and passwords of people.' },
  { name: 'Credits', description: 'What the workspace can spend, and where it went.' },
  { name: 'Teams', description: 'Workspaces that people share: members, invitations, limits and what was changed.' },
  { name: 'Notifications', description: 'What you are told, in the App and by mail.' },
  { name: 'Developer centre', description: 'Keys, webhooks and usage, for owners and admins who are signed in.' },
  { name: 'Payments', description: 'What is on sale, what was ordered and paid, and the subscription.' },
  { name: 'Referral', description: 'Your code to bring others by, and what you get for it.' },
  { name: 'Deprecated', description: 'Paths of version 1, which go with version 3.' },
]

/**
 * Makes the OpenAPI 3.1 document out of the routes' schemas; must be registered before them. A wrong one stops the
 * start.
 */
export async function documentRoutes(app: FastifyInstance, publicUrl: string): Promise<void> {
  settleDeclaredErrors(app)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Matte',
        version: '2.0.0',
        summary: 'Background removal: a photo goes in, its cut-out comes back.',
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags,
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description: 'A key of your workspace, of the form service_live_….',
          },
          accessToken: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'The access token of a session, from signing in or refreshing it; 15 minutes.',
          },
        },
      },
    },
    // Without this a schema with an `$id` is called def-0.
    refResolver: { buildLocalReference: (json, _baseUri, _fragment, index) => String(json.$id ?? `Schema${index}`) },
    transform: ({ schema, url, route }) => ({ url, schema: describeRoute(schema, url, route.config) }),
    transformObject: (made) => {
      if (!('openapiObject' in made)) throw new Error('the document is not of OpenAPI')
      completeDocument(made.openapiObject as unknown as ApiDocument)
      return made.openapiObject
    },
  })
  for (const schema of named) app.addSchema(schema)
  // Made once, before the first request: a document that cannot be made stops the start.
  app.addHook('onReady', async () => void app.swagger())
}

type Documented = FastifySchema & {
  readonly operationId?: string
  readonly tags?: readonly string[]
  readonly description?: string
}

const requestIdHeader = Type.Optional(
  Type.String({
    description: 'Adopted as the id of the request if it is 1 to 128 printable ASCII characters.',
    examples: ['5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10'],
  }),
)
const preferHeader = Type.Optional(
  Type.String({ description: '`handling=strict` refuses unknown fields.', examples: ['handling=strict'] }),
)

/** For the document alone: the credential, and what every route takes. */
function describeRoute(schema: FastifySchema, url: string, config: FastifyContextConfig | undefined) {
  const { access = 'public' } = config ?? {}
  if (access === 'public' || access === 'page') return schema
  const { sentence: needs, security, extensions } = config?.readsToken ? describeOptional : describeAccess(access)
  const { operationId = '', tags = [], headers, params, description: more } = schema as Documented
  const legacy = url.startsWith('/v1/')
  return {
    ...schema,
    operationId: legacy ? `legacy${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}` : operationId,
    tags: legacy ? ['Deprecated'] : tags,
    description: more === undefined ? needs : `${more}\n\n${needs}`,
    headers: Type.Object({ 'X-Request-Id': requestIdHeader, Prefer: preferHeader, ...propertiesOf(headers) }),
    params: Type.Object(
      Object.fromEntries(
        Object.entries(propertiesOf(params)).map(([name, schema]) => [name, name.endsWith('Id') ? id : schema]),
      ),
    ),
    security,
    ...extensions,
    ...(config?.idempotent && { [idempotentMark]: true }),
  }
}

/** An `open` operation that reads an access token. */
const describeOptional = {
  sentence: 'Needs no access token, and reads one.',
  security: [{ accessToken: [] }, {}],
  extensions: { 'x-access': 'open' },
}

/** `extensions`: for the tests that walk the document, and whoever generates a client. */
function describeAccess(access: Exclude<Access, 'public' | 'page'>) {
  if (access === 'open') return { sentence: 'Needs no credential.', security: [], extensions: { 'x-access': access } }
  if (access === 'provider') {
    const sentence = 'The signature of the payment provider is its credential.'
    return { sentence, security: [], extensions: { 'x-access': access } }
  }
  if (access === 'self') {
    const sentence = 'For whoever is signed in.'
    return { sentence, security: [{ accessToken: [] }], extensions: { 'x-access': access } }
  }
  if ('scope' in access) {
    const sentence = `Needs the scope \`${access.scope}\`.`
    return { sentence, security: [{ apiKey: [] }], extensions: { 'x-required-scope': access.scope } }
  }
  const sentence = `For members in the role ${access.roles.join(', ')}.`
  return { sentence, security: [{ accessToken: [] }], extensions: { 'x-required-roles': access.roles } }
}

/** Ids are UUIDs; what is none is answered like an unknown one (D3), so the routes' own schemas take any text. */
const id = Type.String({ format: 'uuid', examples: ['0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'] })

const propertiesOf = (schema: unknown) =>
  ((schema ?? {}) as { properties?: Record<string, ReturnType<typeof Type.String>> }).properties ?? {}

export function serveDocument(app: FastifyInstance): void {
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false } } as const
  app.get(openapiPath, options, async () => app.swagger())
}
