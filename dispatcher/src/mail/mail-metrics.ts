import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'
import { mailOutcomes } from './mail-transport.ts'
import { mailTemplates } from './render-mail.ts'

/** Listed in docs/metrics.md. */
export const mailMetrics = {
  attempts: counter({
    name: 'matte_mail_attempts_total',
    help:
      'Attempts to send a mail. deferred: a 4xx answer. refused: a 5xx answer. timed_out: no answer in time. ' +
      'unavailable: the server is unreachable or rejects this sender. unreadable: the mail cannot be decrypted, or a ' +
      'newer version wrote it.',
    labels: { outcome: [...mailOutcomes, 'unreadable'] },
    reader: 'alert',
  }),
  ended: counter({
    name: 'matte_mails_ended_total',
    help: 'Mails that ended: sent, refused permanently, or expired after three days.',
    labels: { template: mailTemplates, outcome: ['sent', 'refused', 'expired'] },
    reader: 'product',
  }),
  waitingAge: gauge({
    name: 'matte_mail_waiting_age_seconds',
    help:
      'Age of the oldest pending mail, without those that a server has deferred; 0 if there is none, absent without a ' +
      'mail server.',
    reader: 'alert',
    joinedBy: 'max',
  }),
  inFlight: gauge({
    name: 'matte_mail_in_flight',
    help: 'Conversations with the mail server in this process.',
    reader: 'saturation',
  }),
  duration: histogram({
    name: 'matte_mail_duration_seconds',
    help: 'Time of one attempt to send a mail, connection, TLS and login included.',
    reader: 'saturation',
  }),
}

export type MailMetrics = ReturnType<typeof createMailMetrics>

export const createMailMetrics = (registry: Registry) => ({
  attempts: mailMetrics.attempts.register(registry),
  ended: mailMetrics.ended.register(registry),
  waitingAge: mailMetrics.waitingAge.register(registry),
  inFlight: mailMetrics.inFlight.register(registry),
  duration: mailMetrics.duration.register(registry),
})
