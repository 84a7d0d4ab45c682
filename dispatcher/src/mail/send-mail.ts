// One attempt of one mail: open, render, send, record. The claim keeps others away, and the record is fenced by it. A
// process that dies after the server took the mail and before the record leaves a claim that lapses, and the mail goes
// out a second time under the same Message-ID: SMTP has no way to make it once.
import type { Db } from '@matte/core/db/database'
import type { ClaimedMail } from '@matte/core/mail/claim-mails'
import { postpone, recordRefused, recordSent, retryDelayMs } from '@matte/core/mail/end-mail'
import type { Clock } from '@matte/core/runtime/clock'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { pause } from '@matte/core/runtime/service'
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
  /** Told of each attempt whether a server was there. */
  readonly reached: (wasThere: boolean, cause?: Error) => void
}

/** A claimed mail, and the times by the monotonic clock that its claim sets. */
export type MailAssignment = {
  readonly mail: ClaimedMail
  /** An attempt must not begin later than this, or it could outlast its claim. */
  readonly beginBeforeMs: number
  readonly claimEndsAtMs: number
}

/** A mail that no server was there for is due again after this; the loop decides when it is really tried. */
const unavailableDelayMs = 5_000

/** Never rejects: what cannot be recorded is left to the end of its claim. */
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
    // Also true after the process was stopped and continued: somebody else may be sending it by now.
    if (deps.clock.monotonicMs() > assignment.beginBeforeMs) throw new Error('the claim is too old to begin')
    const startedMs = deps.clock.monotonicMs()
    const result = await deps.transport.send({ id: mail_id, to: mail.to, date: mail.claimedAt, ...rendered }, signal)
    const seconds = (deps.clock.monotonicMs() - startedMs) / 1_000
    deps.metrics.attempts.inc({ outcome: result.outcome })
    deps.metrics.duration.observe(seconds)
    const isOurs = await record(deps, assignment, { result, signal })
    report(deps, log, { mail, result, seconds, isOurs })
  } catch (error) {
    if (signal.aborted) log.info('mail left to the end of its claim')
    else log.error({ err: error }, 'mail attempt without record')
  }
}

/** Undefined: it does not open, or is of a version to come. It is tried again on the ordinary schedule. */
function render(deps: SendMailDeps, mail: ClaimedMail, log: Logger): RenderedMail | undefined {
  const { masterKeys, appUrl, supportUrl } = deps
  try {
    return renderClaimed(mail, masterKeys, { appUrl, supportUrl })
  } catch (error) {
    log.error({ err: error }, 'mail is not readable')
    return undefined
  }
}

type Answered = { readonly result: MailResult; readonly signal: AbortSignal }

/** Tries until the claim ends: a database that is away for seconds must not make anybody get a mail twice. */
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
