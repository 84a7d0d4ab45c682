// The ways out for a mail: the mail server, and in development without one the log (D73).
import type { Logger } from 'pino'
import type { RenderedMail } from './layout.ts'

export type OutgoingMail = RenderedMail & {
  /** Of the row. */
  readonly id: string
  readonly to: string
  readonly date: Date
}

export const mailOutcomes = ['sent', 'refused', 'deferred', 'timed_out', 'unavailable'] as const

export type MailResult =
  | { readonly outcome: 'sent' }
  | {
      /**
       * `refused`: for good. `deferred`, `timed_out`: the mail was answered with "later", or not at all. `unavailable`:
       * no server was there that takes mails from us, whichever.
       */
      readonly outcome: Exclude<(typeof mailOutcomes)[number], 'sent'>
      /** In words for the record and the log: codes, never an address. */
      readonly error: string
      /** Of what is not about one mail: a server's answer to a recipient may repeat the address. */
      readonly cause?: Error
    }

export type MailTransport = {
  /** Rejects when `signal` is aborted, and then nobody knows whether the mail was taken. */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<MailResult>
}

/** For development alone: mails hold tokens. */
export const logTransport = (logger: Logger): MailTransport => ({
  send: async ({ to, subject, text }) => {
    logger.info({ to, subject, text }, 'mail, written here since there is no mail server')
    return { outcome: 'sent' }
  },
})
