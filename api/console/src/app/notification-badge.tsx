import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useTaskChanges } from '../session/task-changes.ts'
import { useApp } from '../session/use-session.ts'
import { useFormat } from '../text/format.ts'
import { useText } from '../text/text.ts'
import styles from './notification-badge.module.css'
import { shellText } from './shell-text.ts'

const queryKey = ['notifications', 'unread']
const endings: ReadonlySet<string> = new Set(['succeeded', 'failed', 'canceled'])

const everyMs = 30_000
/** A notification is made by another process, a moment after the change that it is about. */
const afterChangeMs = 2_000

/**
 * Unread notifications. The service has no stream of them, so the count is read again when a task has ended, when the
 * window gets the focus, after a notification is read, and every 30 s for all other events.
 */
export function NotificationBadge() {
  const app = useApp()
  const text = useText(shellText)
  const format = useFormat()
  const queries = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useTaskChanges(({ event_type: type }) => {
    if (!endings.has(type)) return
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      void queries.invalidateQueries({ queryKey })
    }, afterChangeMs)
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  const { data } = useQuery({
    queryKey,
    queryFn: ({ signal }) => app.request('GET', '/app/notifications/unread-count', { signal }),
    refetchInterval: everyMs,
  })
  const count = data?.unread ?? 0
  return (
    <Link
      to="/notifications"
      className={styles.link}
      aria-label={count > 0 ? text.unread(format.number(count)) : text.notifications}
    >
      <svg
        viewBox="0 0 20 20"
        width="20"
        height="20"
        aria-hidden="true"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
      >
        <path d="M4 14h12l-1.5-2V8.5a4.5 4.5 0 0 0-9 0V12zM8 16.5a2 2 0 0 0 4 0" strokeLinejoin="round" />
      </svg>
      {count > 0 && <span className={styles.count}>{count > 99 || data?.unreadIsMinimum ? '99+' : count}</span>}
    </Link>
  )
}
