import type { Case } from './case.ts'

const due = 'matte_delivery_due_age_seconds{process="api"}'
const attempts = (outcome: string) => `matte_delivery_attempts_total{outcome="${outcome}"}`

export const webhookCases: readonly Case[] = [
  {
    alert: 'MatteDeliveriesOverdue',
    when: 'a webhook is due while none is sent',
    series: { [due]: '301x10', [attempts('delivered')]: '5x10' },
    at: '3m',
    fires: [
      {
        severity: 'critical',
        description:
          'The oldest due webhook has waited for 5m 1s, and no webhook was attempted in the last 5 minutes. Callers ' +
          'are not notified of finished tasks.',
      },
    ],
  },
  {
    alert: 'MatteDeliveriesOverdue',
    when: 'a webhook has been due for more than half an hour while others are sent',
    series: { [due]: '1801x20', [attempts('delivered')]: '0+5x20' },
    at: '11m',
    fires: [
      {
        severity: 'warning',
        description:
          'The oldest due webhook has waited for 30m 1s; the limit is 30m 0s. There are too few dispatchers, or one ' +
          'receiver is too slow for its webhooks.',
      },
    ],
  },
  {
    alert: 'MatteDeliveriesOverdue',
    when: 'it has been due for exactly the limit and none is sent',
    series: { [due]: '300x20', [attempts('delivered')]: '5x20' },
    at: '15m',
    fires: [],
  },
  {
    alert: 'MatteDeliveriesOverdue',
    when: 'a slow receiver delays its own webhooks, exactly for the limit',
    series: { [due]: '1800x30', [attempts('delivered')]: '0+5x30' },
    at: '25m',
    fires: [],
  },
  {
    alert: 'MatteDeliveriesOverdue',
    when: 'none is sent for a moment only',
    series: { [due]: '0 0 400x10', [attempts('delivered')]: '5x10' },
    at: '3m',
    fires: [],
  },
  {
    alert: 'MatteWebhooksFailing',
    when: 'more than half of the attempts fail',
    series: { [attempts('delivered')]: '0+48x60', [attempts('connection_refused')]: '0+52x60' },
    at: '20m',
    fires: [
      {
        severity: 'warning',
        description:
          '52% of the webhook attempts of the last 30 minutes failed; the limit is 50%. Each is retried twelve times ' +
          'in eight hours.',
      },
    ],
  },
  {
    alert: 'MatteWebhooksFailing',
    when: 'just under half of them fail',
    series: { [attempts('delivered')]: '0+51x60', [attempts('connection_refused')]: '0+49x60' },
    at: '40m',
    fires: [],
  },
  {
    alert: 'MatteWebhooksFailing',
    when: 'all of very few tasks fail',
    series: { [attempts('delivered')]: '0x60', [attempts('connection_refused')]: '0x10 18x50' },
    at: '35m',
    fires: [],
  },
  {
    alert: 'MatteWebhooksFailing',
    when: 'all fail for ten minutes',
    series: { [attempts('delivered')]: '0x10 0+40x50', [attempts('connection_refused')]: '0+10x10 100x50' },
    at: '11m',
    fires: [],
  },
  {
    alert: 'MatteMailsWaiting',
    when: 'a mail waits for more than half an hour',
    series: { matte_mail_waiting_age_seconds: '1801x20' },
    at: '11m',
    fires: [
      {
        severity: 'warning',
        description:
          'The oldest unsent mail has waited for 30m 1s; the limit is 30m 0s. Registration, password reset and ' +
          'notices do not work. Mails expire after three days.',
      },
    ],
  },
  {
    alert: 'MatteMailsWaiting',
    when: 'it has waited for exactly the limit',
    series: { matte_mail_waiting_age_seconds: '1800x30' },
    at: '25m',
    fires: [],
  },
  {
    alert: 'MatteMailsWaiting',
    when: 'the server was back within ten minutes',
    series: { matte_mail_waiting_age_seconds: '1801x8 0x10' },
    at: '12m',
    fires: [],
  },
  {
    alert: 'MattePaymentsOverdue',
    when: 'a refund has not been confirmed for more than a day',
    series: { 'matte_payment_overdue_seconds{what="refund"}': '86460x20' },
    at: '11m',
    fires: [
      {
        severity: 'warning',
        what: 'refund',
        description:
          "The payment provider's answer about the oldest refund is overdue by 1d 0h 1m 0s; the limit is 1d 0h 0m 0s. " +
          'Paid credits may not be granted, or refunds not confirmed.',
      },
    ],
  },
  {
    alert: 'MattePaymentsOverdue',
    when: 'it has waited for exactly the limit',
    series: { 'matte_payment_overdue_seconds{what="refund"}': '86400x30' },
    at: '25m',
    fires: [],
  },
  {
    alert: 'MattePaymentsOverdue',
    when: 'the provider answered within ten minutes',
    series: { 'matte_payment_overdue_seconds{what="order"}': '86460x8 0x10' },
    at: '12m',
    fires: [],
  },
]
