// What people are told, by event: a title and a sentence or two, in the App and in mails. Each is made of the event's
// fields; one that is missing leaves a sentence that is still true.
import type { WebhookEvent } from '../webhook/events.ts'

type Fields = Readonly<Record<string, unknown>>
type Text = { readonly title: string; readonly body: string }

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

const counted = (value: unknown, one: string): string => `${number(value)} ${one}${number(value) === 1 ? '' : 's'}`

/** Minor units of an ISO 4217 currency, as people write them. */
function money(amount: unknown, currency: unknown): string {
  try {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency: text(currency) })
    return format.format(number(amount) / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
  } catch {
    return `${number(amount)} ${text(currency)}`.trim()
  }
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

function day(value: unknown): string {
  const date = new Date(text(value))
  return Number.isNaN(date.getTime()) ? 'soon' : `on ${dayFormat.format(date)}`
}

const notYou = 'If this was not you, reset your password at once.'

const texts: Readonly<Record<WebhookEvent, (fields: Fields) => Text>> = {
  'task.succeeded': () => ({ title: 'Your image is ready', body: 'The background was removed.' }),
  'task.failed': ({ message }) => ({
    title: 'An image could not be processed',
    body: `${text(message)} Nothing was charged for it.`.trim(),
  }),
  'task.retention_cleanup': ({ count, days }) => ({
    title: 'Old tasks were deleted',
    body: `${counted(count, 'finished task')} and the images were deleted, ${counted(days, 'day')} after the end.`,
  }),
  'batch.completed': ({ total_count, success_count }) => ({
    title: 'Your batch is complete',
    body: `${number(success_count)} of ${counted(total_count, 'image')} succeeded.`,
  }),
  'credits.low_balance': ({ balance }) => ({
    title: 'Few credits are left',
    body: `The workspace has ${counted(balance, 'credit')} left. Without credits new tasks are refused.`,
  }),
  'credits.refunded': ({ amount, message }) => ({
    title: 'Credits were refunded',
    body: text(message) || `${counted(amount, 'credit')} were refunded.`,
  }),
  'credits.pack_purchased': ({ credits, pack_name }) => ({
    title: 'Your credits are there',
    body: `${counted(credits, 'credit')} of ${text(pack_name) || 'a pack'} can be spent now.`,
  }),
  'credits.expiration_warning': ({ credits, expiry_date }) => ({
    title: 'Credits expire soon',
    body: `${counted(credits, 'credit')} will expire ${day(expiry_date)}. Those that expire first are spent first.`,
  }),
  'payment.succeeded': ({ amount, currency }) => ({
    title: 'We received your payment',
    body: `You paid ${money(amount, currency)}. The invoice is under payments.`,
  }),
  'payment.failed': ({ message }) => ({
    title: 'A payment failed',
    body: `${text(message)} Check how you pay, then try again.`.trim(),
  }),
  'refund.succeeded': ({ amount, currency }) => ({
    title: 'Your refund is on its way',
    body: `${money(amount, currency)} go back to how you paid. It can take some days to arrive.`,
  }),
  // A change that is scheduled names the next plan as well; the plan in force has not changed then.
  'subscription.updated': ({ plan, next_plan, message }) => ({
    title: next_plan === undefined ? 'Your plan has changed' : 'Your next payment has changed',
    body: text(message) || `The subscription is to ${text(plan) || 'the plan that you chose'}.`,
  }),
  'subscription.canceled': ({ period_end }) => ({
    title: 'Your subscription was canceled',
    body: `The plan ends ${day(period_end)}. Until then you can resume it.`,
  }),
  'subscription.renewed': ({ plan_name, period_end }) => ({
    title: 'Your subscription was renewed',
    body: `The plan ${text(plan_name)} goes on; the next period begins ${day(period_end)}.`.replace('  ', ' '),
  }),
  'referral.reward': ({ credits }) => ({
    title: 'You earned credits',
    body: `${counted(credits, 'credit')} for someone you invited. Thank you.`,
  }),
  'team.invitation': ({ team_name, inviter_email, role }) => ({
    title: `You are invited to ${text(team_name) || 'a team'}`,
    body: `${text(inviter_email) || 'Somebody'} invites you as ${text(role) || 'member'}. The link is in your mail.`,
  }),
  welcome: () => ({ title: 'Welcome to Matte', body: 'Your account is ready. Upload a photo to begin.' }),
  'security.password_changed': () => ({ title: 'Your password was changed', body: notYou }),
  'security.mfa_enabled': () => ({
    title: 'Two-factor authentication is on',
    body: `Signing in needs a code of your authenticator app from now on. ${notYou}`,
  }),
  'security.mfa_disabled': ({ message }) => ({
    title: 'Two-factor authentication is off',
    body: `${text(message)} Signing in needs your password alone from now on. ${notYou}`.trim(),
  }),
}

export const describeEvent = (event: WebhookEvent, fields: Fields): Text => texts[event](fields)
