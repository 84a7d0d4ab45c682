import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp, useSessionStore } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Card, Stack } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { useChange } from '../../ui/use-change.ts'
import styles from './account.module.css'
import { accountText } from './account-text.ts'
import { readDevice } from './device-name.ts'

const toQuery = (cursor: string | undefined) => ({ pageSize: 25, ...(cursor !== undefined && { cursor }) })

export const SessionsTab = () => (
  <Stack>
    <SessionsCard />
    <HistoryCard />
  </Stack>
)

function useDeviceName(): (userAgent: string | null) => string {
  const { sessions: text } = useText(accountText)
  return (userAgent) => {
    const { browser, system } = readDevice(userAgent)
    if (browser !== undefined && system !== undefined) return text.on(browser, system)
    return browser ?? system ?? text.unknown
  }
}

type Pages = { readonly pages: readonly { readonly items: readonly App.Session[] }[] }

function SessionsCard() {
  const { sessions: text } = useText(accountText)
  const app = useApp()
  const store = useSessionStore()
  const format = useFormat()
  const nameOf = useDeviceName()
  const [asksForAll, setAsksForAll] = useState(false)
  const end = useChange<Pages, App.Session>({
    queryKey: ['sessions'],
    apply: (data, { id }) => ({
      ...data,
      pages: data.pages.map((page) => ({ ...page, items: page.items.filter((one) => one.id !== id) })),
    }),
    send: ({ id: sessionId }) => app.request('DELETE', '/app/auth/sessions/{sessionId}', { path: { sessionId } }),
  })
  const endAll = async (): Promise<void> => {
    await app.request('POST', '/app/auth/logout-all')
    store.leave()
  }
  return (
    <Card
      title={text.title}
      isFlush
      actions={
        <Button size="small" look="danger" onPress={() => setAsksForAll(true)}>
          {text.endAll}
        </Button>
      }
    >
      <Paged
        queryKey={['sessions']}
        read={(cursor) => app.request('GET', '/app/auth/sessions', { query: toQuery(cursor) })}
        empty={<Empty title={text.none} />}
      >
        {(items) => (
          <Table
            label={text.title}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              {
                name: text.device,
                cell: ({ userAgent, current }) => (
                  <span className={styles.device} title={userAgent ?? undefined}>
                    {nameOf(userAgent)}
                    {current && <Badge tone="good">{text.current}</Badge>}
                  </span>
                ),
              },
              { name: text.address, cell: ({ ipAddress }) => ipAddress ?? '–' },
              {
                name: text.signedIn,
                cell: ({ createdAt }) => <span className={styles.time}>{format.dateTime(createdAt)}</span>,
              },
              { name: text.lastUsed, cell: ({ lastUsedAt }) => format.relative(lastUsedAt, Date.now()) },
              {
                name: text.end,
                isNameHidden: true,
                cell: (one) =>
                  one.current ? null : (
                    <Button size="small" aria-label={text.endOf(nameOf(one.userAgent))} onPress={() => void end(one)}>
                      {text.end}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Paged>
      <ConfirmDialog
        title={text.endAll}
        action={text.endAll}
        isOpen={asksForAll}
        onClose={() => setAsksForAll(false)}
        onConfirm={endAll}
      >
        {text.endAllLede}
      </ConfirmDialog>
    </Card>
  )
}

function HistoryCard() {
  const { history: text, sessions } = useText(accountText)
  const app = useApp()
  const format = useFormat()
  const nameOf = useDeviceName()
  const methods: Readonly<Record<string, string>> = text.methods
  const reasons: Readonly<Record<string, string>> = text.reasons
  return (
    <Card title={text.title} isFlush>
      <Paged
        queryKey={['login-history']}
        read={(cursor) => app.request('GET', '/app/users/login-history', { query: toQuery(cursor) })}
        empty={<Empty title={text.none} />}
      >
        {(items) => (
          <Table
            label={text.title}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { name: text.at, cell: ({ at }) => <span className={styles.time}>{format.dateTime(at)}</span> },
              {
                name: text.result,
                cell: ({ success, failureReason }) => (
                  <span className={styles.device}>
                    <Badge tone={success ? 'good' : 'bad'}>{success ? text.success : text.failure}</Badge>
                    {failureReason !== null && (
                      <span className={styles.soft}>
                        {reasons[failureReason] ?? failureReason.replaceAll('_', ' ')}
                      </span>
                    )}
                  </span>
                ),
              },
              { name: text.method, cell: ({ method }) => methods[method] ?? method },
              { name: sessions.device, cell: ({ userAgent }) => nameOf(userAgent) },
              { name: sessions.address, cell: ({ ipAddress }) => ipAddress ?? '–' },
            ]}
          />
        )}
      </Paged>
    </Card>
  )
}
