// matte webhooks listen and trigger: events of the workspace on a developer's machine, without a public address.
import { setTimeout as wait } from 'node:timers/promises'
import type { Command } from 'commander'
import { MatteError } from 'matte-client'
import { list } from '../arguments.ts'
import { CliError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { showError } from '../print/error.ts'
import { formatDuration } from '../print/format.ts'
import type { Output } from '../print/output.ts'
import { toPlain } from '../print/table.ts'
import { type CommonOptions, connect, interruptible, withCommon } from '../session.ts'
import { type Answer, forward, readTarget, type SignedEvent } from './forward.ts'
import { openStream, type StreamPosition } from './open-stream.ts'
import { isPermanent, reconnectDelayMs } from './reconnect.ts'
import { printDelivery } from './webhook-commands.ts'

type ListenOptions = CommonOptions & {
  readonly forwardTo?: string
  readonly events?: string[]
  readonly allowRemote?: boolean
  readonly resume?: string
}

type Ready = { readonly secret: string; readonly since: string; readonly complete: boolean }
type Received = SignedEvent & { readonly event: string }

export function addListenCommands(webhooks: Command): void {
  withCommon(webhooks.command('listen').description("forward the workspace's events to this machine, signed"))
    .option('--forward-to <url>', 'your receiver, such as localhost:3000/hook; without it, events are only printed')
    .option('--events <names>', 'only these events, separated by commas', list)
    .option('--resume <id>', 'continue after this position, which listen prints when it ends')
    .option('--allow-remote', 'allow a receiver on another machine')
    .action(listen)
  withCommon(webhooks.command('trigger').description('send a sample of an event to matte webhooks listen'))
    .argument('<event>', 'such as task.succeeded')
    .option('--webhook <id>', 'send it to this endpoint instead')
    .action(trigger)
}

type Listening = {
  readonly out: Output
  readonly target: URL | undefined
  readonly allowRemote: boolean
  readonly eventTypes: readonly string[]
  readonly signal: AbortSignal
  readonly position: StreamPosition
  /** Set by the first `ready`. */
  secret: string | undefined
}

async function listen(options: ListenOptions): Promise<void> {
  const { forwardTo, events = [], allowRemote = false, resume, ...common } = options
  const target = forwardTo === undefined ? undefined : readTarget(forwardTo, allowRemote)
  const { credential, out } = await connect(common)
  await interruptible(async (signal) => {
    const position: StreamPosition = { lastId: resume, retryMs: undefined }
    const listening = { out, target, allowRemote, eventTypes: events, signal, position, secret: undefined }
    await stayConnected(credential, listening)
    if (position.lastId !== undefined) out.note(`Continue with: --resume ${position.lastId}`)
  })
}

/** Returns when the signal aborts. @throws MatteError when the first connection fails, or the service refuses for good */
async function stayConnected(credential: { apiKey: string; baseUrl: string }, listening: Listening): Promise<void> {
  const { signal, position, out } = listening
  let failures = 0
  while (!signal.aborted) {
    let retryAfterMs: number | undefined
    try {
      const { eventTypes } = listening
      for await (const { event, data } of openStream({ ...credential, eventTypes, position, signal })) {
        failures = 0
        await handle(event, data, listening)
      }
      if (!signal.aborted) out.note('The stream ended. Connecting again.')
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof MatteError && error.status === 404) throw noStream()
      if (!isTransient(error, listening.secret !== undefined)) throw error
      retryAfterMs = error instanceof MatteError ? error.retryAfterMs : undefined
      out.note(`${showError(error).message} Connecting again.`)
      failures += 1
    }
    const delayMs = reconnectDelayMs({ retryMs: position.retryMs, failures, retryAfterMs }, Math.random())
    await wait(delayMs, undefined, { signal }).catch(() => undefined)
  }
}

const noStream = () =>
  new CliError(
    exitCodes.refused,
    'The service has no stream of events.',
    'Update the service, or check that the base URL ends in /api/v1: matte doctor',
  )

/** A wrong address should end the command; an outage later should not. */
function isTransient(error: unknown, wasConnected: boolean): boolean {
  if (!(error instanceof MatteError)) return false
  return error.status === undefined ? wasConnected && error.code !== 'CLIENT_CONFIG' : !isPermanent(error.status)
}

/** Events of other names belong to later versions of the service. */
async function handle(event: string, data: string, listening: Listening): Promise<void> {
  if (event === 'ready') greet(JSON.parse(data) as Ready, listening)
  if (event === 'webhook') await deliver(JSON.parse(data) as Received, listening)
}

function greet({ secret, since, complete }: Ready, listening: Listening): void {
  const { out, target, secret: known, eventTypes } = listening
  if (!complete) out.note(`Some events before ${since} were lost: this connection was interrupted for too long.`)
  if (known === secret) {
    out.note('Connected again.')
    return
  }
  listening.secret = secret
  if (out.json) {
    out.record({ type: 'ready', secret, since })
    return
  }
  out.line(`Signing secret of this stream: ${secret}`)
  const what = eventTypes.length === 0 ? 'all events' : eventTypes.join(', ')
  out.note(
    target ? `Forwarding ${what} to ${target.href}. Stop with Ctrl-C.` : `Waiting for ${what}. Stop with Ctrl-C.`,
  )
}

async function deliver(received: Received, { out, target, allowRemote }: Listening): Promise<void> {
  const { event, body, headers } = received
  const answer = target && (await forward(target, received, allowRemote))
  const id = headers['webhook-id']
  const at = new Date().toISOString()
  if (out.json) {
    out.record({ type: 'webhook', at, id, event, body, headers, answer })
    return
  }
  out.line(`${at.slice(11, 19)}  ${describe(answer)}  ${toPlain(event)}  ${toPlain(id ?? '')}`)
  if (target === undefined) out.line(`          ${toPlain(body)}`)
}

function describe(answer: Answer | undefined): string {
  if (answer === undefined) return 'received'
  return 'status' in answer
    ? `${answer.status} in ${formatDuration(answer.durationMs)}`
    : `not delivered: ${answer.problem}`
}

type TriggerOptions = CommonOptions & { readonly webhook?: string }

async function trigger(event: string, { webhook, ...common }: TriggerOptions): Promise<void> {
  const { matte, out } = await connect(common)
  const body = { event }
  if (webhook === undefined) {
    const sample = await matte.request<{ id: string }>('POST', '/open/developer/webhooks/trigger', { body })
    out.result(sample, `sample of ${toPlain(event)} sent: ${sample.id}`)
    return
  }
  const path = { webhook }
  printDelivery(await matte.request('POST', '/open/developer/webhooks/{webhook}/samples', { path, body }), out)
}
