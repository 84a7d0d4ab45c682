// One attempt of one delivery: sign, send, record. The claim, not an open transaction, keeps other dispatchers away. If
// the process dies before it records the result, the claim lapses and the same attempt is repeated: at least once.
import type { Db } from '@matte/core/db/database'
import type { Clock } from '@matte/core/runtime/clock'
import { type MasterKeys, UnsealError } from '@matte/core/runtime/seal'
import { pause } from '@matte/core/runtime/service'
import { currentTraceparent, inSpan } from '@matte/core/runtime/tracing'
import { type RetryPolicy, retryDelayMs } from '@matte/core/webhook/backoff'
import type { ClaimedDelivery } from '@matte/core/webhook/claim-deliveries'
import { giveBackDelivery, type RecordedStatus, recordAttempt, setAsideDelivery } from '@matte/core/webhook/end-attempt'
import { echoMask } from '@matte/core/webhook/endpoint/echoes'
import { readDialledEndpoint } from '@matte/core/webhook/endpoint/endpoint-secret'
import { maskHeaders, type OwnHeaders } from '@matte/core/webhook/endpoint/own-headers'
import { sampleHeader } from '@matte/core/webhook/sample-event'
import { signatureHeaders } from '@matte/core/webhook/signature'
import { getCallbackSecrets } from '@matte/core/workspace/callback-secret'
import type { Logger } from 'pino'
import type { DeliveryMetrics } from './delivery-metrics.ts'
import type { HttpClient, PostResult } from './egress/http-client.ts'

export type DeliverDeps = {
  readonly db: Db
  readonly http: HttpClient
  readonly masterKeys: MasterKeys
  readonly allowedTargets: () => readonly string[]
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly metrics: DeliveryMetrics
  readonly logger: Logger
}

/** A claimed delivery with its deadlines by the monotonic clock. */
export type Assignment = {
  readonly delivery: ClaimedDelivery
  /** Taken before the claim, so never later than the database's `now()`. */
  readonly claimedAtMs: number
  /** An attempt that begins later could outlast its claim. */
  readonly beginBeforeMs: number
  readonly claimEndsAtMs: number
}

/** Makes and records one attempt; never rejects. On abort the delivery is given back and the attempt does not count. */
export async function deliver(deps: DeliverDeps, assignment: Assignment, signal: AbortSignal): Promise<void> {
  const { delivery } = assignment
  const log = deps.logger.child(fieldsOf(delivery))
  const options = { kind: 'client', traceparent: delivery.traceparent, attributes: spanAttributes(delivery) } as const
  try {
    await inSpan('webhook.deliver', options, async (span) => {
      const target = await readTarget(deps, delivery)
      if (target === undefined) {
        const setAside = await setAsideDelivery(deps.db, delivery)
        countEnd(deps, delivery, setAside?.status)
        log.info({ next: setAside?.status ?? 'claim lost' }, 'delivery set aside: its endpoint is disabled or deleted')
        return
      }
      const result =
        target instanceof UnsealError ? unsigned(target) : await attempt(deps, { assignment, target }, signal)
      const endedAtMs = deps.clock.monotonicMs()
      span.setAttribute('matte.outcome', result.error ?? 'delivered')
      const status = await record(deps, assignment, { result, endedAtMs, signal })
      report(deps, log, { delivery, result, status })
    })
  } catch (error) {
    if (signal.aborted) {
      await giveBack(deps, delivery)
      log.info('delivery given back')
    } else {
      log.error({ err: error }, 'delivery attempt not recorded')
    }
  }
}

/** If giving back fails, the claim lapses by itself. */
async function giveBack({ db, metrics }: DeliverDeps, delivery: ClaimedDelivery): Promise<void> {
  const isLost = await giveBackDelivery(db, delivery).then(
    (row) => row === undefined,
    () => false,
  )
  if (isLost) metrics.claims.lost.inc({ kind: 'delivery' })
}

/** `undefined`: the claim was lost, and nothing was written. */
function countEnd(
  { metrics }: DeliverDeps,
  { event }: ClaimedDelivery,
  status: RecordedStatus | 'canceled' | 'paused' | undefined,
): void {
  if (status === undefined) metrics.claims.lost.inc({ kind: 'delivery' })
  else if (status !== 'pending' && status !== 'paused') metrics.ended.inc({ event, outcome: status })
}

type Target = {
  readonly targetUrl: string
  readonly secret: string
  readonly previousSecret?: string | undefined
  /** Headers of the endpoint's owner. */
  readonly ownHeaders?: OwnHeaders
}

/**
 * Current target, secrets and headers of the endpoint, or the callback URL with the workspace's secrets.
 * Undefined: the endpoint is disabled or deleted. Returns an UnsealError if the secret cannot be opened.
 */
async function readTarget(
  { db, masterKeys }: DeliverDeps,
  { endpointId, workspaceId, targetUrl, ...secrets }: ClaimedDelivery,
): Promise<Target | UnsealError | undefined> {
  try {
    if (endpointId !== null) return await readDialledEndpoint(db, masterKeys, endpointId)
    return { targetUrl, ...(await getCallbackSecrets(db, masterKeys, workspaceId, secrets)) }
  } catch (error) {
    if (error instanceof UnsealError) return error
    throw error
  }
}

/** Recorded as a failed attempt: a retry succeeds once the master key is back. */
const unsigned = (cause: UnsealError): PostResult => ({
  error: 'SECRET_UNREADABLE',
  statusCode: null,
  durationMs: 0,
  responseBody: null,
  cause,
})

async function attempt(
  deps: DeliverDeps,
  { assignment, target }: { readonly assignment: Assignment; readonly target: Target },
  signal: AbortSignal,
): Promise<PostResult> {
  const { clock, http } = deps
  const { targetUrl, ownHeaders = {}, ...secrets } = target
  const { delivery } = assignment
  // Also true if the process was suspended: another dispatcher may hold the delivery by now.
  if (clock.monotonicMs() > assignment.beginBeforeMs) throw new Error('the claim is too old to begin')
  signal.throwIfAborted()
  // Database time, advanced by the monotonic clock, so pod clock skew does not matter (D82).
  const nowMs = delivery.claimedAtMs + clock.monotonicMs() - assignment.claimedAtMs
  const traceparent = currentTraceparent()
  const ours = {
    'Content-Type': 'application/json',
    'User-Agent': 'Matte-Webhook/1',
    Accept: '*/*',
    ...(traceparent && { traceparent }),
    ...(delivery.sample && sampleHeader),
    ...signatureHeaders({ ...secrets, id: delivery.id, timestamp: Math.floor(nowMs / 1_000), body: delivery.body }),
  }
  const result = await http.post({
    url: targetUrl,
    headers: { ...ownHeaders, ...ours },
    body: delivery.body,
    allowedTargets: deps.allowedTargets(),
    signal,
  })
  return { ...maskAnswer(result, ownHeaders), requestHeaders: { ...maskHeaders(ownHeaders), ...ours } }
}

/** A receiver may repeat the owner's headers, as an echo server does; their values are not stored. */
function maskAnswer(result: PostResult, ownHeaders: OwnHeaders): PostResult {
  const { responseBody, responseHeaders } = result
  const mask = echoMask(ownHeaders)
  return {
    ...result,
    responseBody: responseBody && mask(responseBody),
    ...(responseHeaders && {
      responseHeaders: Object.fromEntries(
        Object.entries(responseHeaders).map(([name, value]) => [name, mask(value)] as const),
      ),
    }),
  }
}

type Made = { readonly result: PostResult; readonly endedAtMs: number; readonly signal: AbortSignal }

/** Retries until the claim ends: a short database outage must not make a receiver get an event twice. */
async function record(
  deps: DeliverDeps,
  { delivery, claimEndsAtMs }: Assignment,
  { result, endedAtMs, signal }: Made,
): Promise<RecordedStatus | undefined> {
  const { clock, db, retry } = deps
  for (let waitMs = 100; ; waitMs *= 2) {
    try {
      return await recordAttempt(db, delivery, {
        ...result,
        endedAgoMs: clock.monotonicMs() - endedAtMs,
        policy: retry,
      })
    } catch (error) {
      if (signal.aborted || clock.monotonicMs() + waitMs > claimEndsAtMs) throw error
      await pause(waitMs, signal)
    }
  }
}

type Recorded = {
  readonly delivery: ClaimedDelivery
  readonly result: PostResult
  readonly status: RecordedStatus | undefined
}

function report(deps: DeliverDeps, log: Logger, { delivery, result, status }: Recorded): void {
  const { metrics, retry } = deps
  const { error, statusCode, durationMs, cause } = result
  const outcome = error ?? 'delivered'
  metrics.attempts.inc({ outcome })
  metrics.duration.observe(durationMs / 1_000)
  countEnd(deps, delivery, status)
  const fields = {
    outcome,
    status_code: statusCode,
    duration_ms: Math.round(durationMs),
    // `claim lost`: another dispatcher holds the delivery, or it was canceled.
    next: status === undefined ? 'claim lost' : status === 'pending' ? 'retry' : status,
    ...(status === 'pending' && { retry_in_ms: retryDelayMs(delivery.scheduledAttempt, retry) }),
  }
  if (error === 'INTERNAL' || error === 'SECRET_UNREADABLE') log.error({ ...fields, err: cause }, 'delivery attempted')
  else log.info({ ...fields, ...(cause !== undefined && { reason: reasonOf(cause) }) }, 'delivery attempted')
}

/** Messages only: a parser error contains the receiver's answer, which must not be logged. */
const reasonOf = (error: unknown): string =>
  error instanceof Error
    ? [error.message, ...(error.cause === undefined ? [] : [reasonOf(error.cause)])].join(': ')
    : String(error)

const fieldsOf = ({ id, workspaceId, taskId, event, attempt, targetHost }: ClaimedDelivery) => ({
  delivery_id: id,
  workspace_id: workspaceId,
  task_id: taskId,
  event,
  attempt,
  target_host: targetHost,
})

const spanAttributes = ({ id, event, attempt, targetHost }: ClaimedDelivery) => ({
  'matte.delivery_id': id,
  'matte.event': event,
  'matte.attempt': attempt,
  'server.address': targetHost,
})
