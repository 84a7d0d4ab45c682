// One attempt of one mail: open, render, send, record. If the process dies after the server accepted the mail and
// before the record, the claim lapses and the mail is sent again with the same Message-ID: SMTP has no exactly-once.

import type { Db } from '@matte/core/db/database'
import type { Clock } from '@matte/core/runtime/clock'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { pause } from '@matte/core/runtime/service'
import { type ClaimedMail, postpone, recordRefused, recordSent, retryDelayMs } from '@matte/people/mail/mail-queue'
import type { Logger } from 'pino'
import type { RenderedMail } from './layout.ts'
import type { MailMetrics } from './mail-metrics.ts'
import type { MailResult, MailTransport } from './mail-transport.ts'
import { renderClaimed } from './render-mail.ts'

export type SendMailDeps = {
  readonly db: Db
  readonly transport: MailTransport
  readonly masterKeys: MasterKeys
  readonly appUrl: string | undefined
  readonly supportUrl: string | undefined
  readonly clock: Clock
  readonly metrics: MailMetrics
  readonly logger: Logger
  /** Reports whether a server was available. */
  readonly reached: (wasThere: boolean, cause?: Error) => void
}

/** A claimed mail with its deadlines by the monotonic clock. */
export type MailAssignment = {
  readonly mail: ClaimedMail
  /** An attempt that begins later could outlast its claim. */
  readonly beginBeforeMs: number
  readonly claimEndsAtMs: number
}

/** Delay if no server was available; the loop decides when to try again. */
const unavailableDelayMs = 5_000

/** Makes and records one attempt; never rejects. If the result cannot be recorded, the claim lapses. */
export async function sendMail(deps: SendMailDeps, assignment: MailAssignment, signal: AbortSignal): Promise<void> {
  const { mail } = assignment
  const { id: mail_id, template, attempt } = mail
  const log = deps.logger.child({ mail_id, template, attempt })
  try {
    const rendered = render(deps, mail, log)
    if (rendered === undefined) {
      deps.metrics.attempts.inc({ outcome: 'unreadable' })
      await postpone(deps.db, mail, { error: 'UNREADABLE', delayMs: retryDelayMs(attempt), counts: true })
      return
    }
    // Also true if the process was suspended: another dispatcher may hold the mail by now.
    if (deps.clock.monotonicMs() > assignment.beginBeforeMs) throw new Error('the claim is too old to begin')
    const startedMs = deps.clock.monotonicMs()
    const result = await deps.transport.send({ id: mail_id, to: mail.to, date: mail.claimedAt, ...rendered }, signal)
    const seconds = (deps.clock.monotonicMs() - startedMs) / 1_000
    deps.metrics.attempts.inc({ outcome: result.outcome })
    deps.metrics.duration.observe(seconds)
    const isOurs = await record(deps, assignment, { result, signal })
    report(deps, log, { mail, result, seconds, isOurs })
  } catch (error) {
    if (signal.aborted) log.info('mail attempt aborted; its claim will lapse')
    else log.error({ err: error }, 'mail attempt not recorded')
  }
}

/** Undefined: the mail cannot be decrypted, or a newer version wrote it. It is retried with backoff. */
function render(deps: SendMailDeps, mail: ClaimedMail, log: Logger): RenderedMail | undefined {
  const { masterKeys, appUrl, supportUrl } = deps
  try {
    return renderClaimed(mail, masterKeys, { appUrl, supportUrl })
  } catch (error) {
    log.error({ err: error }, 'mail cannot be read')
    return undefined
  }
}

type Answered = { readonly result: MailResult; readonly signal: AbortSignal }

/** Retries until the claim ends: a short database outage must not send a mail twice. */
async function record(deps: SendMailDeps, { mail, claimEndsAtMs }: MailAssignment, { result, signal }: Answered) {
  for (let waitMs = 100; ; waitMs *= 2) {
    try {
      return (await write(deps.db, mail, result)) !== undefined
    } catch (error) {
      if (signal.aborted || deps.clock.monotonicMs() + waitMs > claimEndsAtMs) throw error
      await pause(waitMs, signal)
    }
  }
}

function write(db: Db, mail: ClaimedMail, result: MailResult) {
  if (result.outcome === 'sent') return recordSent(db, mail)
  const { outcome, error } = result
  if (outcome === 'refused') return recordRefused(db, mail, error)
  return outcome === 'unavailable'
    ? postpone(db, mail, { error, delayMs: unavailableDelayMs, counts: false })
    : postpone(db, mail, { error, delayMs: retryDelayMs(mail.attempt), counts: true })
}

type Reported = {
  readonly mail: ClaimedMail
  readonly result: MailResult
  readonly seconds: number
  readonly isOurs: boolean
}

function report({ metrics, reached }: SendMailDeps, log: Logger, { mail, result, seconds, isOurs }: Reported): void {
  const { outcome } = result
  const { template } = mail
  if (isOurs && (outcome === 'sent' || outcome === 'refused')) metrics.ended.inc({ template, outcome })
  const fields = { outcome, duration_ms: Math.round(seconds * 1_000), ...(!isOurs && { next: 'claim lost' }) }
  if (result.outcome === 'sent') log.info(fields, 'mail attempted')
  else log.warn({ ...fields, error: result.error }, 'mail attempted')
  reached(outcome !== 'unavailable', result.outcome === 'sent' ? undefined : result.cause)
}
