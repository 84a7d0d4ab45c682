import { useQueryClient } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useChange } from '../../ui/use-change.ts'
import styles from './notifications.module.css'
import { notificationsText } from './notifications-text.ts'
import { targetOf } from './target.ts'

type Shown = 'all' | 'unread'
type Pages = { readonly pages: readonly { readonly items: readonly App.Notification[] }[] }
type Count = { readonly unread: number }

const countKey = ['notifications', 'unread']
const listKey = (shown: Shown) => ['notifications', 'list', shown]

/** Undefined ids: all of them. */
const markRead = <Data extends Pages>(data: Data, id?: string): Data => {
  const readAt = new Date().toISOString()
  const mark = (one: App.Notification) => (id === undefined || one.id === id ? { ...one, readAt } : one)
  return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(mark) })) }
}

export function NotificationsPage() {
  const text = useText(notificationsText)
  const [shown, setShown] = useState<Shown>('all')
  const app = useApp()
  const queries = useQueryClient()
  const readAll = useChange<Pages, undefined>({
    queryKey: listKey(shown),
    apply: (data) => markRead(data),
    send: () => app.request('POST', '/app/notifications/read-all'),
  })
  const readEvery = async (): Promise<void> => {
    queries.setQueryData<Count>(countKey, { unread: 0 })
    await readAll(undefined)
    void queries.invalidateQueries({ queryKey: ['notifications'] })
  }
  const tabOf = (id: Shown) => ({ id, title: text[id], content: <List shown={id} /> })
  return (
    <Page
      title={text.title}
      lede={text.lede}
      actions={
        <>
          <LinkButton to="/account" search={{ tab: 'notifications' }}>
            {text.settings}
          </LinkButton>
          <Button onPress={() => void readEvery()}>{text.readAll}</Button>
        </>
      }
    >
      <Tabs
        label={text.show}
        tabs={[tabOf('all'), tabOf('unread')]}
        selected={shown}
        onSelect={(id) => setShown(id === 'unread' ? 'unread' : 'all')}
      />
    </Page>
  )
}

function List({ shown }: { readonly shown: Shown }) {
  const text = useText(notificationsText)
  const app = useApp()
  const queries = useQueryClient()
  const readOne = useChange<Pages, App.Notification>({
    queryKey: listKey(shown),
    apply: (data, { id }) => markRead(data, id),
    send: ({ id: notificationId }) =>
      app.request('POST', '/app/notifications/{notificationId}/read', { path: { notificationId } }),
  })
  const read = async (one: App.Notification): Promise<void> => {
    if (one.readAt !== null) return
    const count = queries.getQueryData<Count>(countKey)
    if (count !== undefined) queries.setQueryData<Count>(countKey, { unread: Math.max(0, count.unread - 1) })
    await readOne(one)
    void queries.invalidateQueries({ queryKey: countKey })
  }
  return (
    <Card isFlush>
      <Paged
        queryKey={listKey(shown)}
        read={(cursor) => {
          const only = shown === 'unread' ? { unread: 'true' as const } : {}
          return app.request('GET', '/app/notifications', {
            query: { ...only, ...(cursor !== undefined && { cursor }) },
          })
        }}
        empty={<Empty title={shown === 'unread' ? text.noneUnread : text.none} />}
      >
        {(items) => (
          <ul className={styles.list}>
            {items.map((one) => (
              <Item key={one.id} notification={one} onRead={() => void read(one)} />
            ))}
          </ul>
        )}
      </Paged>
    </Card>
  )
}

type ItemProps = { readonly notification: App.Notification; readonly onRead: () => void }

function Item({ notification, onRead }: ItemProps) {
  const text = useText(notificationsText)
  const format = useFormat()
  const { title, body, createdAt, readAt } = notification
  const target = targetOf(notification)
  const isUnread = readAt === null
  return (
    <li className={`${styles.item} ${isUnread ? styles.unread : ''}`}>
      <div>
        <h2 className={styles.title}>
          {title}
          {isUnread && <Badge tone="active">{text.isNew}</Badge>}
        </h2>
        <p className={styles.text}>{body}</p>
        <p className={styles.foot}>
          <time dateTime={createdAt} title={format.dateTime(createdAt)}>
            {format.relative(createdAt, Date.now())}
          </time>
        </p>
      </div>
      <div className={styles.actions}>
        {target !== undefined && (
          <LinkButton {...target} size="small" onClick={onRead}>
            {text.open}
          </LinkButton>
        )}
        {isUnread && (
          <Button size="small" look="quiet" aria-label={text.readOf(title)} onPress={onRead}>
            {text.read}
          </Button>
        )}
      </div>
    </li>
  )
}
