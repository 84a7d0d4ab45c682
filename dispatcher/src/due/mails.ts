// Sends what is due, in slots of its own, so that a mail server that hangs delays no webhook. While no server takes
// mails, one at a time is tried, at growing intervals of a minute at most; the others wait as they are, none counts an
// attempt, and all go out once the server is back.
import type { Db } from '@matte/core/db/database'
import { claimDueMails } from '@matte/core/mail/claim-mails'
import { giveUpOldMails, readMailAgeMs } from '@matte/core/mail/old-mails'
import type { Clock } from '@matte/core/runtime/clock'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { attemptSlots } from '../attempt-slots.ts'
import type { MailMetrics } from '../mail/mail-metrics.ts'
import type { MailAssignment, SendMailDeps } from '../mail/send-mail.ts'
import { mailPace } from './mail-pace.ts'
import { serverPause } from './server-pause.ts'

type MailLoopOptions = {
  readonly db: Db
  /** Makes one attempt; never rejects. Undefined: there is no way out, and mails only grow old. */
  readonly send:
    | ((assignment: MailAssignment, signal: AbortSignal, reached: SendMailDeps['reached']) => Promise<void>)
    | undefined
  readonly slots: number
  /** Total time of one attempt. */
  readonly timeoutMs: number
  /** 0: no bound. */
  readonly perMinute: number
  /** After a stop, attempts in flight may go on for so long. */
  readonly finishWithinMs: number
  readonly clock: Clock
  readonly metrics: MailMetrics
  readonly logger: Logger
}

/** Nobody nudges: a mail leaves within a second of being queued. */
const everyMs = 1_000
/** How much longer than an attempt its claim holds: time to begin before, and to record after. */
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
    if (pauseMs > 0) logger.warn({ err: cause, pause_ms: pauseMs }, 'no mail server takes mails; they wait')
  }

  async function pass(signal: AbortSignal): Promise<Record<string, number>> {
    const expired = await giveUpOldMails(db)
    for (const template of expired) metrics.ended.inc({ template, outcome: 'expired' })
    if (send !== undefined) {
      const limit = Math.min(server.allows(attempts.free(), slots), pace.allows())
      const claimed = limit > 0 && !signal.aborted ? await claim(limit) : 0
      moreWaits = limit > 0 && claimed === limit
      metrics.waitingAge.set((await readMailAgeMs(db)) / 1_000)
    }
    return { mails_expired: expired.length } // each attempt has a log line of its own
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
