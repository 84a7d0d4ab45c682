// Transports of mails: the mail server, or in development the log.
import type { Logger } from 'pino'
import type { RenderedMail } from './layout.ts'

export type OutgoingMail = RenderedMail & {
  /** Id of the row. */
  readonly id: string
  readonly to: string
  readonly date: Date
}

export const mailOutcomes = ['sent', 'refused', 'deferred', 'timed_out', 'unavailable'] as const

export type MailResult =
  | { readonly outcome: 'sent' }
  | {
      /**
       * `refused`: permanent. `deferred`, `timed_out`: retry later. `unavailable`: no server accepts mails from this
       * sender; not the fault of this mail.
       */
      readonly outcome: Exclude<(typeof mailOutcomes)[number], 'sent'>
      /** Codes for the record and the log; never an address. */
      readonly error: string
      /** Set only for errors that do not concern one mail: an answer about a recipient can repeat the address. */
      readonly cause?: Error
    }

export type MailTransport = {
  /** Rejects when `signal` is aborted; the mail may or may not have been accepted. */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<MailResult>
}

/** For development only: mails contain tokens. */
export const logTransport = (logger: Logger): MailTransport => ({
  send: async ({ to, subject, text }) => {
    logger.info({ to, subject, text }, 'mail logged: no mail server is configured')
    return { outcome: 'sent' }
  },
})
