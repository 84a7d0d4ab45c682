// A sample of every mail, with realistic data.

import type { EventFields } from '@matte/core/webhook/event-fields'
import { webhookEvents } from '@matte/core/webhook/events'
import type { RenderedMail } from '@matte/dispatcher/mail/layout'
import { renderMail } from '@matte/dispatcher/mail/render-mail'
import { type Language, languages } from '@matte/people/mail/person-format'
import { describeEvent } from '@matte/people/notification/event-texts'

const links = { appUrl: 'https://app.example.com', supportUrl: 'mailto:help@example.com', timeZone: 'UTC' }
const url = 'https://app.example.com/link?token=4fX0n1u7c3'
const message = 'A sentence of the event.'
const later = '2026-12-31T00:00:00.000Z'

type Samples = { readonly [E in EventFields as E['event']]: E['fields'] }

/** Typed by the publishing modules, so a renamed field fails to compile. */
const eventFields: Samples = {
  'task.retention_cleanup': { count: 120, days: 30, message },
  'batch.completed': { batch_job_id: 'b', total_count: 50, success_count: 48, failed_count: 2, message },
  'credits.low_balance': { balance: 9, message },
  'credits.refunded': { amount: 100, message: '100 credits were refunded.' },
  'credits.pack_purchased': { credits: 500, pack_name: 'Pack 500', message },
  'credits.expiration_warning': { credits: 40, expiry_date: later, message },
  'payment.succeeded': { order_id: 'o', amount: 1_999, currency: 'EUR', message },
  'payment.failed': { order_id: 'o', message: 'Your card was declined.' },
  'payment.disputed': {
    ...{ dispute_id: 'd', order_id: 'o', amount: 1_999, currency: 'EUR', credits: 80, reason: 'fraudulent', message },
  },
  'payment.dispute_closed': {
    ...{ dispute_id: 'd', order_id: 'o', amount: 1_999, currency: 'EUR', credits: 80, outcome: 'lost', message },
  },
  'refund.succeeded': { refund_id: 'r', order_id: 'o', amount: 1_500, currency: 'JPY', message },
  'subscription.updated': { plan: 'business', message },
  'subscription.canceled': { period_end: later, message },
  'subscription.renewed': { plan_name: 'pro', period_end: later, message },
  'referral.reward': { credits: 20, description: 'Ada joined', message },
  'team.invitation': {
    ...{ team_name: 'Shop', inviter_email: 'ada@example.com', role: 'member', invite_url: url, message },
  },
  welcome: { message },
  'security.password_changed': { message },
  'security.mfa_enabled': { message },
  'security.mfa_disabled': { message },
}

const taskFields = { task_id: 't', reason: 'INPUT_UNREADABLE', message: 'The image cannot be read.' }

const endpoint = {
  targetHost: 'hooks.example.com:443',
  endpointId: '0b0f6a5e-6f6c-4f43-9c7c-5b1d3b0d5a11',
  workspaceName: 'Shop & Co',
  failingSince: '2026-11-17T09:30:00.000Z',
}

function samplesIn(locale: Language): Readonly<Record<string, RenderedMail>> {
  const place = { ...links, locale }
  return {
    'verify-email': renderMail('verify-email', { url }, place),
    'already-registered': renderMail('already-registered', { loginUrl: url, resetUrl: url }, place),
    'reset-password': renderMail('reset-password', { url }, place),
    'confirm-email': renderMail('confirm-email', { url }, place),
    'email-changing': renderMail('email-changing', { newEmail: 'new@example.com' }, place),
    'failed-logins': renderMail('failed-logins', { failures: 20 }, place),
    'wrong-codes': renderMail('wrong-codes', { codes: 10 }, place),
    'endpoint-failing': renderMail('endpoint-failing', { ...endpoint, disabledAfterDays: 5 }, place),
    'endpoint-disabled': renderMail('endpoint-disabled', endpoint, place),
    'team-invitation': renderMail(
      'team-invitation',
      { teamName: 'Shop & Co', inviterEmail: 'ada@example.com', role: 'member', url },
      place,
    ),
    'member-endpoints': renderMail(
      'member-endpoints',
      {
        ...{ teamName: 'Shop & Co', memberEmail: 'grace@example.com', change: 'removed' },
        endpoints: [{ id: endpoint.endpointId, targetHost: endpoint.targetHost }],
      },
      place,
    ),
    'keys-expiring': renderMail(
      'keys-expiring',
      {
        workspaceName: 'Shop & Co',
        keys: [
          { name: 'production', lastFour: '9xQ2', expiresAt: '2026-12-24T09:30:00.000Z' },
          { name: 'staging', lastFour: 'b7Lm', expiresAt: '2026-12-24T09:30:00.000Z' },
        ],
      },
      place,
    ),
    'referral-invitation': renderMail(
      'referral-invitation',
      { inviterName: 'Ada', inviterEmail: 'ada@example.com', url },
      place,
    ),
    ...Object.fromEntries(
      webhookEvents.map((event) => {
        const fields = event === 'task.succeeded' || event === 'task.failed' ? taskFields : eventFields[event]
        return [event, renderMail('notification', { event, ...describeEvent(event, fields, place) }, place)]
      }),
    ),
  }
}

export const mailSamples = Object.fromEntries(languages.map((language) => [language, samplesIn(language)])) as Readonly<
  Record<Language, ReturnType<typeof samplesIn>>
>
