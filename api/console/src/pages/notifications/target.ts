// Page of the console that a notification is about.
import type { LinkProps } from '@tanstack/react-router'
import type { App } from 'matte-client/app'

type Target = Pick<LinkProps, 'to' | 'params' | 'search'>

const pages: readonly (readonly [prefix: string, target: Target])[] = [
  ['task.', { to: '/gallery' }],
  ['batch.', { to: '/batches' }],
  ['credits.', { to: '/credits' }],
  ['payment.', { to: '/billing' }],
  ['refund.', { to: '/billing' }],
  ['subscription.', { to: '/billing' }],
  ['referral.', { to: '/account', search: { tab: 'referral' } }],
  ['team.', { to: '/team' }],
  ['security.', { to: '/account', search: { tab: 'security' } }],
]

/** The record itself if the event names one. Undefined: there is no page about it. */
export function targetOf({ type, data }: Pick<App.Notification, 'type' | 'data'>): Target | undefined {
  const { taskId, batchId } = data
  if (type.startsWith('task.') && typeof taskId === 'string') return { to: '/tasks/$taskId', params: { taskId } }
  if (type.startsWith('batch.') && typeof batchId === 'string') return { to: '/batches/$batchId', params: { batchId } }
  return pages.find(([prefix]) => type.startsWith(prefix))?.[1]
}
