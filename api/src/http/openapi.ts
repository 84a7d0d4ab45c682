import swagger from '@fastify/swagger'
import { roles } from '@matte/core/workspace/role'
import type { FastifyContextConfig, FastifyInstance, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import type { Access } from '../access.ts'
import * as apiKey from '../schemas/api-key.ts'
import * as appAudit from '../schemas/app/audit.ts'
import * as auth from '../schemas/app/auth.ts'
import * as credit from '../schemas/app/credit.ts'
import * as developer from '../schemas/app/developer.ts'
import * as notification from '../schemas/app/notification.ts'
import * as payment from '../schemas/app/payment.ts'
import * as referral from '../schemas/app/referral.ts'
import * as retention from '../schemas/app/retention.ts'
import * as taskEvent from '../schemas/app/task-event.ts'
import * as team from '../schemas/app/team.ts'
import * as twoFactor from '../schemas/app/two-factor.ts'
import * as user from '../schemas/app/user.ts'
import * as batch from '../schemas/batch.ts'
import * as delivery from '../schemas/delivery.ts'
import * as model from '../schemas/model.ts'
import * as operator from '../schemas/operator.ts'
import { generalHeaders } from '../schemas/response-headers.ts'
import * as base from '../schemas/schema.ts'
import * as task from '../schemas/task.ts'
import * as upload from '../schemas/upload.ts'
import * as usage from '../schemas/usage.ts'
import * as webhook from '../schemas/webhook.ts'
import * as webhookStats from '../schemas/webhook-stats.ts'
import * as webhookStream from '../schemas/webhook-stream.ts'
import { type ApiDocument, idempotentMark } from './document/api-document.ts'
import { completeDocument } from './document/complete-document.ts'
import { completeErrorCodes } from './document/declared-errors.ts'
import { splitDocument } from './document/split-document.ts'

export const openapiPath = '/api/v1/openapi.json'
export const operatorOpenapiPath = '/api/v1/operator/openapi.json'

const appModules = [
  appAudit,
  auth,
  credit,
  developer,
  notification,
  payment,
  referral,
  retention,
  taskEvent,
  team,
  twoFactor,
  user,
]

/** Every exported schema with an `$id`. */
const namedSchemas = (ofApp: readonly object[]) =>
  [
    apiKey,
    ...ofApp,
    batch,
    delivery,
    model,
    operator,
    base,
    task,
    upload,
    usage,
    webhook,
    webhookStats,
    webhookStream,
  ].flatMap((module) =>
    Object.values(module).filter((value: unknown) => typeof value === 'object' && value !== null && '$id' in value),
  )

const generalHeaderTable = (): string =>
  [
    '| header | meaning | example |',
    '|---|---|---|',
    ...generalHeaders().map(({ name, description, example }) => `| \`${name}\` | ${description} | \`${example}\` |`),
  ].join('\n')

const description = `Removes the background from images.

**API key.** Every request sends \`X-API-Key: service_live_…\`. A key belongs to a workspace. Create one in the
workspace settings or, as the operator, with \`matte-admin key create\`. Each operation names the scope that
its key needs.

One call: \`POST /api/v1/open/developer/cut-outs\` with a photo. For large and many photos:

1. Get an upload grant: \`presignUpload\`.
2. Send the bytes: \`curl -T cat.jpg -H 'Content-Type: image/jpeg' "$uploadUrl"\`, without key.
3. Create a task: \`createTask\` with the grant's \`objectKey\` as \`imageUrl\`.
4. Read the task until its \`status\` is \`succeeded\`, \`failed\` or \`canceled\`, or create it with
   \`Prefer: wait=20\`, or receive a webhook; \`resultUrl\` is the image, and needs no key either.

**Responses.** Success is \`{request_id, data}\`, failure \`{request_id, error: {code, message, details}}\`;
\`request_id\` is also the header \`X-Request-Id\`, and a request's own \`X-Request-Id\` of 1 to 128 printable ASCII
characters is adopted. An unknown path or method returns 404 \`NOT_FOUND\`; for a known path, the header \`Allow\`
lists its methods. The response \`default\` is a failure of the service, usually with status 500. A proxy in front of
the service can send other statuses, without this body.

**Unknown fields** of a body are refused with \`INVALID_PARAMS\` and the nearest known name; \`Prefer:
handling=lenient\` ignores them. Unknown query parameters are ignored; \`Prefer: handling=strict\` refuses them. What
is ignored is named in \`X-Ignored-Fields\`. \`null\` for an optional field means absent.

**Limits.** Requests are counted per workspace and minute; the \`X-RateLimit-\` headers show what is left.
Responses 429 and 503 carry \`Retry-After\` in seconds.

**Headers** that any response can have, beside the ones that it lists:

${generalHeaderTable()}

**Webhooks** are POSTs of flat JSON, \`{"event": "task.succeeded", "task_id": …}\`, to a task's \`callbackUrl\`
and to your webhook endpoints. Verify each: \`X-Service-Signature: t=…,v1=…\` has the Unix time in seconds and
the HMAC-SHA256, in lower-case hex, of \`<t>.<raw body>\`, keyed by the whole secret as you got it, \`whsec_\`
included. The secret is the endpoint's, shown when it is created, or for a \`callbackUrl\` the workspace's,
see \`getSigningSecret\`. An event may arrive more than once.

**Idempotency.** Send an \`Idempotency-Key\` with requests that create or charge: repeating one within 24 hours
creates nothing new.`

const developerTags = [
  { name: 'Uploads', description: 'Uploads of photos for tasks.' },
  { name: 'Tasks', description: 'Removal of the background of one photo.' },
  { name: 'Batches', description: 'Tasks for many photos, created together or not at all.' },
  { name: 'Webhooks', description: 'Endpoints that receive events, and the signatures of the service.' },
  { name: 'API keys', description: 'API keys of the workspace. A key cannot create a key.' },
  { name: 'Usage', description: 'Usage statistics of the workspace.' },
]
const appTags = [
  { name: 'Images', description: 'Uploads, tasks and batches of the workspace, for signed-in members.' },
  { name: 'Two-factor login', description: 'A code in addition to the password.' },
  { name: 'Account', description: 'You, your address and your data.' },
  { name: 'Sign-in', description: 'Accounts, sessions and passwords of people.' },
  { name: 'Credits', description: 'Balance and ledger of the workspace.' },
  { name: 'Teams', description: 'Workspaces with several members: members, invitations, limits and the audit log.' },
  { name: 'Notifications', description: 'Notifications in the App and by mail.' },
  { name: 'Developer centre', description: 'Keys, webhooks and usage, for signed-in owners and admins.' },
  { name: 'Payments', description: 'Catalog, orders, payments, and the subscription.' },
  { name: 'Referral', description: 'Your referral code and its rewards.' },
]
const operatorTag = {
  name: 'Operator',
  description: 'State of the installation, for its operators. Read-only, and independent of accounts.',
}
const legacyTag = { name: 'Deprecated', description: 'Paths of version 1, removed in version 3.' }

const apiKeyScheme = {
  type: 'apiKey',
  in: 'header',
  name: 'X-API-Key',
  description: 'A key of your workspace, of the form service_live_….',
} as const
const accessTokenScheme = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'The access token of a session, from signing in or refreshing it; 15 minutes.',
} as const

const operatorTokenScheme = {
  type: 'http',
  scheme: 'bearer',
  description: 'The setting `OPERATOR_TOKEN`, or the token of a session from `matte-admin console-link`.',
} as const

type Documented = { readonly publicUrl: string; readonly accountsEnabled: boolean }

/** Generates the OpenAPI 3.1 document; must run before the routes are registered. An invalid one stops the start. */
export async function documentRoutes(app: FastifyInstance, { publicUrl, accountsEnabled }: Documented): Promise<void> {
  completeErrorCodes(app)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Matte',
        version: '2.0.0',
        summary: 'Background removal: send a photo, get its cut-out.',
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags: [...developerTags, ...(accountsEnabled ? appTags : []), operatorTag, legacyTag],
      components: {
        securitySchemes: {
          apiKey: apiKeyScheme,
          operatorToken: operatorTokenScheme,
          ...(accountsEnabled && { accessToken: accessTokenScheme }),
        },
      },
    },
    // Otherwise a schema with an `$id` is called def-0.
    refResolver: { buildLocalReference: (json, _baseUri, _fragment, index) => String(json.$id ?? `Schema${index}`) },
    transform: ({ schema, url, route }) => ({ url, schema: describeRoute(schema, route.config) }),
    transformObject: (made) => {
      if (!('openapiObject' in made)) throw new Error('not an OpenAPI document')
      completeDocument(made.openapiObject as unknown as ApiDocument)
      return made.openapiObject
    },
  })
  for (const schema of namedSchemas(accountsEnabled ? appModules : [])) app.addSchema(schema)
  app.addHook('onReady', async () => void app.swagger())
}

function describeRoute(schema: FastifySchema, config: FastifyContextConfig | undefined) {
  const { access = 'public' } = config ?? {}
  if (access === 'public' || access === 'page' || access === 'network') return schema
  const { sentence, security, extensions } = config?.readsToken ? describeOptional : describeAccess(access)
  const needs = config?.needsProof ? `${sentence} ${describeProof}` : sentence
  const { headers, params, description: more } = schema as FastifySchema & { readonly description?: string }
  return {
    ...schema,
    ...config?.ownInput,
    description: more === undefined ? needs : `${more}\n\n${needs}`,
    headers: Type.Object(propertiesOf(headers)),
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

const describeProof = 'Needs a recent proof, see `proveSession`.'

const describeOptional = {
  sentence: 'The access token is optional.',
  security: [{ accessToken: [] }, {}],
  extensions: { 'x-access': 'open' },
}

/** `extensions` serve the tests that walk the document, and client generators. */
function describeAccess(access: Exclude<Access, 'public' | 'page' | 'network'>) {
  if (access === 'open') return { sentence: 'Needs no credential.', security: [], extensions: { 'x-access': access } }
  if (access === 'provider') {
    const sentence = 'Authenticated by the signature of the payment provider.'
    return { sentence, security: [], extensions: { 'x-access': access } }
  }
  if (access === 'operator') {
    const sentence = 'For operators of the installation.'
    return { sentence, security: [{ operatorToken: [] }], extensions: { 'x-access': access } }
  }
  if (access === 'self') {
    const sentence = 'For any signed-in user.'
    return { sentence, security: [{ accessToken: [] }], extensions: { 'x-access': access } }
  }
  if ('scope' in access) {
    const sentence = `Needs the scope \`${access.scope}\`.`
    return { sentence, security: [{ apiKey: [] }], extensions: { 'x-required-scope': access.scope } }
  }
  const isForAll = roles.every((role) => access.roles.includes(role))
  const sentence = isForAll ? 'For all members.' : `For members with the role ${access.roles.join(', ')}.`
  return { sentence, security: [{ accessToken: [] }], extensions: { 'x-required-roles': access.roles } }
}

/** Documented as UUIDs; the routes accept any text and report it as unknown. */
const id = Type.String({ format: 'uuid', examples: ['0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'] })

const propertiesOf = (schema: unknown) =>
  ((schema ?? {}) as { properties?: Record<string, ReturnType<typeof Type.String>> }).properties ?? {}

export function serveDocument(app: FastifyInstance): void {
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false } } as const
  let served: Record<keyof ReturnType<typeof splitDocument>, Buffer> | undefined
  // Serialized once: 360 KB take 3 ms, and a copy for each slow reader would fill the memory.
  const split = () => {
    if (served !== undefined) return served
    // The plugin types a document of any version; this one was completed as an ApiDocument.
    const { callers, operators } = splitDocument(app.swagger() as unknown as ApiDocument)
    served = { callers: Buffer.from(JSON.stringify(callers)), operators: Buffer.from(JSON.stringify(operators)) }
    return served
  }
  const type = 'application/json; charset=utf-8'
  app.get(openapiPath, options, async (_request, reply) => reply.type(type).send(split().callers))
  app.get(operatorOpenapiPath, options, async (_request, reply) => reply.type(type).send(split().operators))
}
