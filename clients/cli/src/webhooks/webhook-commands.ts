// matte webhooks: endpoints, deliveries, and the secrets that sign them.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import type { EventName, WebhookDelivery, WebhookEndpoint, WebhookRecovery, WebhookRequest } from 'matte-client'
import { another, duration, header, integer, list, timeOrAgo } from '../arguments.ts'
import { usageError } from '../cli-error.ts'
import { defined } from '../defined.ts'
import { formatDuration, formatTime, plural } from '../print/format.ts'
import type { Output } from '../print/output.ts'
import type { Column } from '../print/table.ts'
import { type CommonOptions, connect, withCommon } from '../session.ts'
import { printAll } from '../tasks/print-all.ts'
import { take } from '../tasks/take.ts'

const deliveryStatuses = ['pending', 'delivered', 'exhausted', 'canceled', 'paused'] as const

/** An event, or a group such as `task.*`. */
type EventType = NonNullable<WebhookRequest['eventTypes']>[number]

/** The service knows the names of its version, and rejects others. */
const events = (text: string): EventType[] => list(text) as EventType[]

type Headers = Readonly<Record<string, string>>
type EndpointOptions = CommonOptions & {
  readonly events?: EventType[]
  readonly description?: string
  readonly header?: Headers
  readonly headerFile?: string
}
type UpdateOptions = EndpointOptions & {
  readonly url?: string
  readonly removeHeader?: string[]
  readonly enable?: boolean
  readonly disable?: boolean
}
type DeliveryOptions = CommonOptions & {
  readonly status?: (typeof deliveryStatuses)[number]
  readonly event?: EventName
  readonly since?: string
  readonly until?: string
  readonly limit: number
  readonly all?: boolean
}

const endpointColumns: readonly Column<WebhookEndpoint>[] = [
  { title: 'id', value: ({ id }) => id },
  {
    title: 'status',
    value: ({ status, disabledReason }) => (disabledReason ? `${status} (${disabledReason})` : status),
  },
  { title: 'last delivery', value: ({ lastDeliveryStatus }) => lastDeliveryStatus },
  { title: 'target', value: ({ targetUrl }) => targetUrl },
  { title: 'events', value: ({ eventTypes }) => eventTypes.join(' ') || 'all' },
]

const deliveryColumns: readonly Column<WebhookDelivery>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'event', value: ({ event }) => event },
  { title: 'status', value: ({ status }) => status },
  { title: 'attempts', value: ({ attemptCount }) => attemptCount },
  { title: 'answer', value: lastAnswer },
  { title: 'created', value: ({ createdAt }) => formatTime(createdAt) },
]

function lastAnswer({ attempts }: WebhookDelivery): string | null {
  const last = attempts.at(-1)
  if (last === undefined) return null
  return `${last.statusCode ?? last.error} in ${formatDuration(last.durationMs)}`
}

const headerOption = [
  '--header <header>',
  "your own header of each delivery, such as 'X-Token: abc'; can be repeated",
  header,
] as const
const headerFileOption = [
  '--header-file <file>',
  'headers, one a line; - for stdin. Keeps secrets out of the shell history',
] as const

/** @throws CliError for a file that cannot be read, or a line that is no header */
async function readHeaders({ header: headers, headerFile }: EndpointOptions): Promise<Headers | undefined> {
  if (headerFile === undefined) return headers
  const content = await (headerFile === '-' ? text(process.stdin) : readFile(headerFile, 'utf8'))
  const lines = content.split(/\r?\n/).filter((line) => line.trim() !== '')
  return lines.reduce((others: Headers, line, at) => {
    try {
      return header(line, others)
    } catch {
      // The line may hold a secret, so it is not printed.
      const source = headerFile === '-' ? 'stdin' : headerFile
      throw usageError(`Line ${at + 1} of ${source} is not a header.`, "Write lines such as 'X-Token: abc'.")
    }
  }, headers ?? {})
}

export function addWebhookCommands(webhooks: Command): void {
  const add = (name: string, description: string): Command =>
    withCommon(webhooks.command(name).description(description))
  add('list', 'list webhook endpoints, newest first').action(listEndpoints)
  add('get', 'show one endpoint').argument('<id>').action(getEndpoint)
  add('create', 'create an endpoint; prints its signing secret, which is shown once')
    .argument('<url>', 'public http or https URL')
    .option('--events <names>', 'events to subscribe to, separated by commas (default: all)', events)
    .option('--description <text>', 'your own note')
    .option(...headerOption)
    .option(...headerFileOption)
    .action(createEndpoint)
  add('update', 'change an endpoint; options that you leave out stay as they are')
    .argument('<id>')
    .option('--url <url>', 'new target')
    .option('--events <names>', 'events separated by commas; an empty text means all', events)
    .option('--description <text>', 'your own note; an empty text removes it')
    .option(...headerOption)
    .option(...headerFileOption)
    .option('--remove-header <name>', 'header to remove; can be repeated', another)
    .addOption(new Option('--enable', 'enable it').conflicts('disable'))
    .option('--disable', 'disable it; its deliveries are paused')
    .action(updateEndpoint)
  add('delete', 'delete an endpoint; its pending deliveries are canceled').argument('<id>').action(deleteEndpoint)
  add('test', 'send test.webhook to an endpoint, and show the answer').argument('<id>').action(testEndpoint)
  add('rotate-secret', 'make a new signing secret, which is shown once')
    .argument('<id>')
    .option('--overlap <duration>', 'time in which the previous secret stays valid, 0s to 7d', duration, 86_400)
    .action(rotateSecret)
  addDeliveryCommands(add)
}

function addDeliveryCommands(add: (name: string, description: string) => Command): void {
  add('deliveries', 'list the deliveries of an endpoint, or of callback URLs without an id')
    .argument('[id]')
    .addOption(new Option('--status <status>', 'only deliveries with this status').choices(deliveryStatuses))
    .option('--event <name>', 'only deliveries of this event')
    .option('--since <time>', 'created at or after a date, a time, or a time ago such as 2h', (text) => timeOrAgo(text))
    .option('--until <time>', 'created until then', (text) => timeOrAgo(text))
    .option('-n, --limit <number>', 'at most this many', integer(1, 1_000_000), 20)
    .option('--all', 'all of them')
    .action(listDeliveries)
  add('redeliver', 'send deliveries again').argument('<delivery-id...>').action(redeliver)
  add('recover', 'send again everything that failed or was paused since a time')
    .argument('<id>')
    .requiredOption('--since <time>', 'a date, a time, or a time ago such as 2h', (text) => timeOrAgo(text))
    .option('--until <time>', 'only what failed, or happened, until then', (text) => timeOrAgo(text))
    .option('--events <names>', 'only these events, separated by commas, such as task.*', list)
    .option('--status <names>', 'only these statuses: exhausted, pending, paused', list)
    .option('--dry-run', 'only count')
    .action(recover)
  add('signing-secret', 'show the secret that signs what goes to callback URLs').action(showSigningSecret)
}

async function listEndpoints(common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  const none = 'There are no webhook endpoints. Create one: matte webhooks create URL'
  await printAll(matte.webhooks.list(), { out, columns: endpointColumns, none })
}

async function getEndpoint(id: string, common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  printEndpoint(await matte.webhooks.get(id), out)
}

async function createEndpoint(targetUrl: string, options: EndpointOptions): Promise<void> {
  const { events, description, ...common } = options
  const headers = await readHeaders(options)
  const { matte, out } = await connect(common)
  const endpoint = await matte.webhooks.create({ targetUrl, ...defined({ eventTypes: events, description, headers }) })
  printEndpoint(endpoint, out, [['signing secret', endpoint.signingSecret]])
  out.note('Store the signing secret now: it is not shown again.')
}

async function updateEndpoint(id: string, options: UpdateOptions): Promise<void> {
  const { url, events, description, removeHeader = [], enable, disable, ...common } = options
  const status = enable ? ('enabled' as const) : disable ? ('disabled' as const) : undefined
  const removed = Object.fromEntries(removeHeader.map((name) => [name, null]))
  const changed = { ...removed, ...(await readHeaders(options)) }
  const headers = Object.keys(changed).length === 0 ? undefined : changed
  const patch = defined({ targetUrl: url, eventTypes: events, description, status, headers })
  if (Object.keys(patch).length === 0) {
    throw usageError(
      'There is nothing to change.',
      'Add --url, --events, --description, --header, --remove-header, --enable or --disable.',
    )
  }
  const { matte, out } = await connect(common)
  const endpoint = await matte.webhooks.update(id, patch)
  printEndpoint(endpoint, out)
  if (enable && endpoint.pausedSince !== null) {
    out.note(`Events were paused. Send them: matte webhooks recover ${id} --since ${endpoint.pausedSince}`)
  }
}

async function deleteEndpoint(id: string, common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  const deleted = await matte.webhooks.delete(id)
  out.result(deleted, `${deleted.id} is deleted`)
}

async function testEndpoint(id: string, common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  const delivery = await matte.webhooks.test(id)
  printDelivery(delivery, out)
  if (delivery.attempts.length === 0) out.note('There is no answer yet: matte webhooks deliveries shows it later.')
}

async function rotateSecret(id: string, { overlap, ...common }: CommonOptions & { overlap: number }): Promise<void> {
  const { matte, out } = await connect(common)
  const endpoint = await matte.webhooks.rotateSecret(id, { overlapSeconds: overlap })
  const { signingSecret, previousSecretExpiresAt: until } = endpoint
  printEndpoint(endpoint, out, [
    ['signing secret', signingSecret],
    ['previous secret', until === null ? 'no longer valid' : `valid until ${formatTime(until)}`],
  ])
  out.note('Store the signing secret now: it is not shown again.')
}

function printEndpoint(
  endpoint: WebhookEndpoint,
  out: Output,
  more: readonly (readonly [string, string | undefined])[] = [],
): void {
  out.fields(endpoint, [
    ['id', endpoint.id],
    ['target', endpoint.targetUrl],
    ['events', endpoint.eventTypes.join(' ') || 'all'],
    ['status', endpoint.disabledReason ? `${endpoint.status} (${endpoint.disabledReason})` : endpoint.status],
    ['description', endpoint.description],
    ...Object.entries(endpoint.headers ?? {}).map(([name, value]) => ['header', `${name}: ${value}`] as const),
    ['created', formatTime(endpoint.createdAt)],
    ['last delivery', endpoint.lastDeliveryStatus],
    ...more,
  ])
}

async function listDeliveries(id: string | undefined, options: DeliveryOptions): Promise<void> {
  const { status, event, since, until, limit, all = false, ...common } = options
  const { matte, out } = await connect(common)
  const most = all ? Number.POSITIVE_INFINITY : limit
  const query = defined({ status, event, startDate: since, endDate: until, pageSize: Math.min(100, most) })
  const found = id === undefined ? matte.webhooks.callbackDeliveries(query) : matte.webhooks.deliveries(id, query)
  await printAll(take(found, most), { out, columns: deliveryColumns, none: 'There are no such deliveries.' })
}

async function redeliver(ids: readonly string[], common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  for (const id of ids) {
    const delivery = await matte.webhooks.redeliver(id)
    out.result(delivery, `${delivery.id} is sent again`)
  }
}

type RecoverOptions = CommonOptions & {
  readonly since: string
  readonly until?: string
  readonly events?: string[]
  readonly status?: string[]
  readonly dryRun?: boolean
}

async function recover(id: string, options: RecoverOptions): Promise<void> {
  const { since, until, events, status, dryRun = false, ...common } = options
  const { matte, out } = await connect(common)
  const recovery = await matte.request<WebhookRecovery>('POST', '/open/developer/webhooks/{id}/recover', {
    path: { id },
    body: defined({ since, until, eventTypes: events, statuses: status, dryRun }),
  })
  const count = plural(recovery.count, 'delivery', 'deliveries')
  const text = dryRun ? `${count} would be sent again` : `${count} ${recovery.count === 1 ? 'is' : 'are'} sent again`
  out.result(recovery, text)
  if (recovery.more) out.note('There are more. Run the same command again.')
}

async function showSigningSecret(common: CommonOptions): Promise<void> {
  const { matte, out } = await connect(common)
  const secret = await matte.webhooks.signingSecret()
  out.result(secret, secret.signingSecret)
}

export function printDelivery(delivery: WebhookDelivery, out: Output): void {
  const last = delivery.attempts.at(-1)
  out.fields(delivery, [
    ['id', delivery.id],
    ['event', delivery.event],
    ['target', delivery.targetUrl],
    ['status', delivery.status],
    ['answer', lastAnswer(delivery)],
    ['error', last?.error],
    ['response', last?.responseBody?.slice(0, 500)],
  ])
}
