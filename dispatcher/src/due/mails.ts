// Sends due mails in separate slots, so a hanging mail server delays no webhook. While no server accepts mails, the
// loop tries one at a time, at intervals of up to a minute; the others wait and count no attempt.

import type { Db } from '@matte/core/db/database'
import type { Clock } from '@matte/core/runtime/clock'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { claimDueMails, expireOldMails, readMailAgeMs } from '@matte/people/mail/mail-queue'
import type { Logger } from 'pino'
import { attemptSlots } from '../attempt-slots.ts'
import type { MailMetrics } from '../mail/mail-metrics.ts'
import type { MailAssignment, SendMailDeps } from '../mail/send-mail.ts'
import { mailPace } from './mail-pace.ts'
import { serverPause } from './server-pause.ts'

type MailLoopOptions = {
  readonly db: Db
  /** Makes one attempt; never rejects. Undefined: no mail server, so mails only expire. */
  readonly send:
    | ((assignment: MailAssignment, signal: AbortSignal, reached: SendMailDeps['reached']) => Promise<void>)
    | undefined
  readonly slots: number
  /** Total time of one attempt. */
  readonly timeoutMs: number
  /** 0: no bound. */
  readonly perMinute: number
  /** Time after a stop for attempts in flight. */
  readonly finishWithinMs: number
  readonly clock: Clock
  readonly metrics: MailMetrics
  readonly logger: Logger
}

/** Mails have no nudge: each is sent within a second of being queued. */
const everyMs = 1_000
/** Time of a claim beyond its attempt, to begin it and to record the result. */
const claimMarginMs = 15_000

export function mailLoop(options: MailLoopOptions): Service {
  const { db, send, slots, timeoutMs, clock, metrics, logger } = options
  const claimMs = timeoutMs + claimMarginMs
  const pace = mailPace(options.perMinute, clock)
  const server = serverPause(clock)
  const attempts = attemptSlots<MailAssignment>({
    slots,
    metrics,
    deliver: async (assignment, signal) => send?.(assignment, signal, reached),
    ended: () => moreWaits && inner.wake(),
  })
  let moreWaits = false

  function reached(wasThere: boolean, cause?: Error): void {
    const pauseMs = server.reached(wasThere)
    if (pauseMs > 0) logger.warn({ err: cause, pause_ms: pauseMs }, 'no mail server accepts mails; sending pauses')
  }

  async function pass(signal: AbortSignal): Promise<Record<string, number>> {
    const expired = await expireOldMails(db)
    for (const template of expired) metrics.ended.inc({ template, outcome: 'expired' })
    if (send !== undefined) {
      const limit = Math.min(server.allows(attempts.free(), slots), pace.allows())
      const claimed = limit > 0 && !signal.aborted ? await claim(limit) : 0
      moreWaits = limit > 0 && claimed === limit
      metrics.waitingAge.set((await readMailAgeMs(db)) / 1_000)
    }
    return { mails_expired: expired.length } // each attempt is logged
  }

  async function claim(limit: number): Promise<number> {
    const claimedAtMs = clock.monotonicMs()
    const mails = await claimDueMails(db, { limit, claimMs })
    pace.took(mails.length)
    for (const mail of mails) {
      const beginBeforeMs = claimedAtMs + claimMarginMs / 2
      attempts.begin({ mail, beginBeforeMs, claimEndsAtMs: claimedAtMs + claimMs })
    }
    return mails.length
  }

  const inner = loop({ name: 'due-mails', everyMs, run: pass, logger })

  return {
    name: inner.name,
    start: inner.start,
    stopTaking: inner.halt,
    stop: async () => {
      await inner.stop()
      await attempts.finish(options.finishWithinMs)
    },
  }
}
