// One attempt of one delivery: sign, send, record. Nothing is held open in the database meanwhile; the claim is what
// keeps others away, and the record is fenced by it. If the process dies before the record, the claim lapses and the
// same attempt is made again: at least once, as the interface says.
import type { Db } from '@matte/core/db/database'
import type { Clock } from '@matte/core/runtime/clock'
import { type MasterKeys, UnsealError } from '@matte/core/runtime/seal'
import { pause } from '@matte/core/runtime/service'
import { currentTraceparent, inSpan } from '@matte/core/runtime/tracing'
import { type RetryPolicy, retryDelayMs } from '@matte/core/webhook/backoff'
import type { ClaimedDelivery } from '@matte/core/webhook/claim-deliveries'
import { giveBackDelivery, type RecordedStatus, recordAttempt, setAsideDelivery } from '@matte/core/webhook/end-attempt'
import { readDialledEndpoint } from '@matte/core/webhook/endpoint/endpoint-secret'
import { signatureHeaders } from '@matte/core/webhook/signature'
import { getCallbackSecrets } from '@matte/core/workspace/secret/callback-secret'
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

/** A claimed delivery, and the time by the monotonic clock after which nothing may be sent under its claim. */
export type Assignment = {
  readonly delivery: ClaimedDelivery
  /** Before the claim was asked for, so never later than the database's `now()`. */
  readonly claimedAtMs: number
  /** An attempt must not begin later than this, or it could outlast its claim. */
  readonly beginBeforeMs: number
  readonly claimEndsAtMs: number
}

/**
 * Makes the attempt and records it. Never rejects: what cannot be recorded is left to the end of its claim. When
 * `signal` is aborted the attempt ends and is given back, uncounted.
 */
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
      log.error({ err: error }, 'delivery attempt without record')
    }
  }
}

/** What cannot be given back lapses. */
async function giveBack({ db, metrics }: DeliverDeps, delivery: ClaimedDelivery): Promise<void> {
  const isLost = await giveBackDelivery(db, delivery).then(
    (row) => row === undefined,
    () => false,
  )
  if (isLost) metrics.claims.lost.inc({ kind: 'delivery' })
}

/** Undefined: the claim was lost, and nothing was written. */
function countEnd(
  { metrics }: DeliverDeps,
  { event }: ClaimedDelivery,
  status: RecordedStatus | 'canceled' | 'paused' | undefined,
): void {
  if (status === undefined) metrics.claims.lost.inc({ kind: 'delivery' })
  else if (status !== 'pending' && status !== 'paused') metrics.ended.inc({ event, outcome: status })
}

type Target = { readonly targetUrl: string; readonly secret: string; readonly previousSecret?: string | undefined }

/**
 * Where it goes and what signs it: the endpoint as it is now, which may have moved or rotated its secret since the
 * event, or the workspace's own secrets for a callback URL (D62). Undefined: the endpoint gets no more events.
 * An error in place of a target: the secret does not open.
 */
async function readTarget(
  { db, masterKeys }: DeliverDeps,
  { endpointId, workspaceId, targetUrl }: ClaimedDelivery,
): Promise<Target | UnsealError | undefined> {
  try {
    if (endpointId !== null) return await readDialledEndpoint(db, masterKeys, endpointId)
    return { targetUrl, ...(await getCallbackSecrets(db, masterKeys, workspaceId)) }
  } catch (error) {
    if (error instanceof UnsealError) return error
    throw error
  }
}

/**
 * A failed attempt that sent nothing. It is recorded, so that it is tried again on the ordinary schedule, by when the
 * master key may be back, and so that its end is in sight; an attempt without record comes again with each claim.
 */
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
  const { targetUrl, ...secrets } = target
  const { delivery } = assignment
  // Also true after the process was stopped and continued: somebody else may be making this attempt by now.
  if (clock.monotonicMs() > assignment.beginBeforeMs) throw new Error('the claim is too old to begin')
  signal.throwIfAborted()
  // The database's time, carried forward by our own clock's pace (D82).
  const nowMs = delivery.claimedAtMs + clock.monotonicMs() - assignment.claimedAtMs
  const traceparent = currentTraceparent()
  return http.post({
    url: targetUrl,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'Matte-Webhook/1',
      Accept: '*/*',
      ...(traceparent && { traceparent }),
      ...signatureHeaders({ ...secrets, id: delivery.id, timestamp: Math.floor(nowMs / 1_000), body: delivery.body }),
    },
    body: delivery.body,
    allowedTargets: deps.allowedTargets(),
    signal,
  })
}

type Made = { readonly result: PostResult; readonly endedAtMs: number; readonly signal: AbortSignal }

/** Tries until the claim ends: a database that is away for seconds must not make a receiver see an event twice. */
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
    // `claim lost`: another dispatcher has this delivery, or it was canceled; nothing was recorded.
    next: status === undefined ? 'claim lost' : status === 'pending' ? 'retry' : status,
    ...(status === 'pending' && { retry_in_ms: retryDelayMs(delivery.scheduledAttempt, retry) }),
  }
  if (error === 'INTERNAL' || error === 'SECRET_UNREADABLE') log.error({ ...fields, err: cause }, 'delivery attempted')
  else log.info({ ...fields, ...(cause !== undefined && { reason: reasonOf(cause) }) }, 'delivery attempted')
}

/** Messages only: the parser's errors carry the receiver's answer with them, which is not for the log. */
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
