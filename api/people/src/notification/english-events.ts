import { plainName } from '../mail/plain-name.ts'
import { type EventTexts, text } from './event-words.ts'

const on = (day: string | undefined): string => (day === undefined ? 'soon' : `on ${day}`)

const notYou = 'If this was not you, reset your password at once.'
/** A password reset keeps the second factor, so the owner needs another way in. */
const operatorResets =
  'If you are asked for codes that you do not have, the operator of this service can switch them off for you.'

export const englishEvents: EventTexts = {
  'task.succeeded': () => ({ title: 'Your image is ready', body: 'The background was removed.' }),
  'task.failed': ({ message }) => ({
    title: 'An image could not be processed',
    body: `${text(message)} Nothing was charged for it.`.trim(),
  }),
  'task.retention_cleanup': ({ count, days }, { counted }) => ({
    title: 'Old tasks were deleted',
    body: `${counted(count, 'finished task', 'finished tasks')} and the images were deleted, ${counted(days, 'day', 'days')} after the end.`,
  }),
  'batch.completed': ({ total_count, success_count }, { counted, number }) => ({
    title: 'Your batch is complete',
    body: `${number(success_count)} of ${counted(total_count, 'image', 'images')} succeeded.`,
  }),
  'credits.low_balance': ({ balance }, { counted }) => ({
    title: 'Few credits are left',
    body: `The workspace has ${counted(balance, 'credit', 'credits')} left. Without credits, new tasks are rejected.`,
  }),
  'credits.refunded': ({ amount }, { counted }) => ({
    title: 'Credits were refunded',
    body: `A refund took ${counted(amount, 'credit', 'credits')} back.`,
  }),
  'credits.pack_purchased': ({ credits, pack_name }, { counted }) => ({
    title: 'Your credits have arrived',
    body: `You can now spend ${counted(credits, 'credit', 'credits')} of ${text(pack_name) || 'a pack'}.`,
  }),
  'credits.expiration_warning': ({ credits, expiry_date }, { counted, day }) => ({
    title: 'Credits expire soon',
    body: `${counted(credits, 'credit', 'credits')} will expire ${on(day(expiry_date))}. Credits that expire first are spent first.`,
  }),
  'payment.succeeded': ({ amount, currency }, { money }) => ({
    title: 'We received your payment',
    body: `You paid ${money(amount, currency)}. The invoice is listed under payments.`,
  }),
  'payment.failed': ({ message }) => ({
    title: 'A payment failed',
    body: `${text(message)} Check your payment method, then try again.`.trim(),
  }),
  'payment.disputed': ({ amount, currency, credits }, { money, counted }) => ({
    title: 'A payment is disputed',
    body:
      `Your bank disputes a payment of ${money(amount, currency)}. Until it decides, ` +
      `${counted(credits, 'unspent credit of the payment is', 'unspent credits of the payment are')} held and ` +
      'subscriptions that it paid for do not renew. If you did not mean to dispute it, tell your bank.',
  }),
  'payment.dispute_closed': ({ amount, currency, credits, outcome }, { money, counted }) => ({
    title: outcome === 'won' ? 'The dispute of a payment has ended' : 'A disputed payment was returned',
    body:
      outcome === 'won'
        ? `The payment of ${money(amount, currency)} stands. Its credits can be spent again.`
        : `Your bank has returned ${money(amount, currency)}. ` +
          `${counted(credits, 'unspent credit of the payment was', 'unspent credits of the payment were')} taken back, ` +
          'and a plan that the payment was for has ended.',
  }),
  'refund.succeeded': ({ amount, currency }, { money }) => ({
    title: 'Your refund is on its way',
    body: `${money(amount, currency)} go back to your payment method. This can take some days.`,
  }),
  // A scheduled change names the next plan too; the current plan stays.
  'subscription.updated': ({ plan, next_plan, message }) => ({
    title: next_plan === undefined ? 'Your plan has changed' : 'Your next payment has changed',
    body: text(message) || `Your plan is now ${text(plan) || 'the one that you chose'}.`,
  }),
  'subscription.canceled': ({ period_end }, { day }) => ({
    title: 'Your subscription was canceled',
    body: `The plan ends ${on(day(period_end))}. You can resume it until then.`,
  }),
  'subscription.renewed': ({ plan_name, period_end }, { day }) => ({
    title: 'Your subscription was renewed',
    body: `The plan ${text(plan_name)} continues; the next period begins ${on(day(period_end))}.`.replace('  ', ' '),
  }),
  'referral.reward': ({ credits }, { counted }) => ({
    title: 'You earned credits',
    body: `You earned ${counted(credits, 'credit', 'credits')} for someone you invited. Thank you.`,
  }),
  'team.invitation': ({ team_name, inviter_email, role }) => ({
    title: `You are invited to ${plainName(text(team_name)) ?? 'a team'}`,
    body: `${text(inviter_email) || 'Someone'} invites you as ${text(role) || 'member'}. The link is in your mail.`,
  }),
  welcome: () => ({ title: 'Welcome to Matte', body: 'Your account is ready. Upload a photo to begin.' }),
  'security.password_changed': () => ({ title: 'Your password was changed', body: notYou }),
  'security.mfa_enabled': () => ({
    title: 'Two-factor authentication is on',
    body: `Signing in now needs a code of your authenticator app. ${notYou} ${operatorResets}`,
  }),
  'security.mfa_disabled': ({ message }) => ({
    title: 'Two-factor authentication is off',
    body: `${text(message)} Signing in now needs only your password. ${notYou} ${operatorResets}`.trim(),
  }),
}
